"""Examples out of what others keep them in: datasets and loaders, of torch and like torch's.

`sources` says what the data give, item by item, and how many examples there will be; `items` makes
of an item a batch of inputs and labels, or says in one sentence why it is none; `growing` keeps the
batches, in memory or in mapped files; `reading` puts this together, under a progress bar.
"""
