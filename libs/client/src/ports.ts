/** What the library needs from its surroundings. Browsers fill these in `browser.ts`, tests with fakes. */

export type KeyValueStorage = {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** Time: `now` in milliseconds from any fixed point; timers in milliseconds. */
export type ClientClock = {
  now(): number
  setTimeout(run: () => void, ms: number): unknown
  clearTimeout(timer: unknown): void
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** The part of a browser's WebSocket that is used. */
export type Socket = {
  send(text: string): void
  close(code?: number, reason?: string): void
  onopen: (() => void) | null
  onmessage: ((event: { data: unknown }) => void) | null
  onclose: ((event: { code: number; reason: string }) => void) | null
  onerror: (() => void) | null
}

export type OpenSocket = (url: string) => Socket

/** Tells of a change that another tab made to the storage; gives a function that stops the watching. */
export type WatchStorage = (changed: (key: string | null) => void) => () => void

/** A number from 0 up to, not including, 1: for jitter only. */
export type Jitter = () => number
