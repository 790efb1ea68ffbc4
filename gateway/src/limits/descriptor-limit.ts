import { readFileSync } from 'node:fs'

/** Node's value on macOS. */
const otherwise = 10_240
const unlimited = 1_048_576

/** Reads the soft limit. Node raises it to the hard limit. */
export function readDescriptorLimit(path = '/proc/self/limits'): number {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync(path, 'utf8')) ?? []
    return soft === 'unlimited' ? unlimited : Number(soft) || otherwise
  } catch {
    return otherwise
  }
}
