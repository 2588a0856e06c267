"""The reference driver: executes the front end's IR with NumPy. It is the meaning of the language, and always present.

Threads run in lockstep, batches of whole blocks at a time. A value is one NumPy array over the lanes of
the batch, or an array of length 1 where all lanes agree, so uniform work costs the same for one lane as for all.
"""
