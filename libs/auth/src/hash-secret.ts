import { hash } from 'node:crypto'

/** SHA-256 in hex. What is hashed has at least 256 random bits, so it needs no salt. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'hex')
