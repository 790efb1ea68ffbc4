import { readFileSync } from 'node:fs'

/** Where there is no `/proc`: what Node sets on macOS. */
const otherwise = 10_240
const unlimited = 1_048_576

/** How many file descriptors this process may have open: the soft limit, which Node raises to the hard one at start. */
export function readDescriptorLimit(path = '/proc/self/limits'): number {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync(path, 'utf8')) ?? []
    return soft === 'unlimited' ? unlimited : Number(soft) || otherwise
  } catch {
    return otherwise
  }
}
