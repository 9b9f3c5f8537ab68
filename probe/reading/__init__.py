"""Examples read from datasets and loaders of torch and other libraries.

`read` iterates over the data, shows a bar, and keeps the batches in memory or in mapped
files; `item_format` turns an item into a batch of inputs and labels, or says in one
sentence why it cannot.
"""
