import { setFlagsFromString } from 'node:v8'

/**
 * Lets the part of the heap for short-lived objects grow in one step. What a forwarded request leaves behind is short-
 * lived, and V8 grows that part only for what survives: small, it is collected hundreds of times a second, which took a
 * fifth of the time. For a process that does nothing else; costs up to 128 MB.
 */
export function enlargeYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=64')
}
