import { setFlagsFromString } from 'node:v8'

/**
 * Frequent small collections took a fifth of the CPU time. Pretenuring made each collection ten times as long. Costs up to
 * 128 MB. For a process that does nothing else. docs/decisions/garbage-collection.md.
 */
export function tuneGc(): void {
  setFlagsFromString('--semi-space-growth-factor=64')
  setFlagsFromString('--no-allocation-site-pretenuring')
}
