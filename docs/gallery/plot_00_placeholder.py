"""
A placeholder
=============

It is deleted when the gallery comes.
"""

import matplotlib.pyplot as plt

plt.plot([0, 1])
