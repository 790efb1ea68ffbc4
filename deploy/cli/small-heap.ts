import { setFlagsFromString } from 'node:v8'

// A command reads millions of rows and keeps few: without these, the heap grows with all that it has read. bench/NOTES.md.
setFlagsFromString('--semi-space-growth-factor=1')
setFlagsFromString('--heap-growing-percent=25')
