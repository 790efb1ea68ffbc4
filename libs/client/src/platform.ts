/** What the library needs of its platform: given by `browser.ts` in a browser, by fakes in tests. */

export type KeyValueStorage = {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** `now` in milliseconds since any fixed point; timers in milliseconds. */
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

/** Calls `changed` when another tab changed the storage; returns a function that stops it. */
export type WatchStorage = (changed: (key: string | null) => void) => () => void

/** A random number from 0 up to, not including, 1. */
export type Jitter = () => number
