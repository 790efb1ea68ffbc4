import { setFlagsFromString } from 'node:v8'

/**
 * Lets V8's young generation grow in one step, and keeps what is short-lived in it. The objects of a proxied request are
 * short-lived, and V8 grows that generation only by what survives: small, it is collected hundreds of times a second, which
 * took a fifth of the CPU time. Pretenuring is off: where many objects survived the first collections, V8 allocated
 * all of their allocation site in the old generation from then on, and each collection took ten times as long. For a process that does nothing
 * else; costs up to 128 MB. Measured: docs/decisions/garbage-collection.md.
 */
export function tuneGc(): void {
  setFlagsFromString('--semi-space-growth-factor=64')
  setFlagsFromString('--no-allocation-site-pretenuring')
}
