export type KeyValueStorage = {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** In milliseconds; `now` from any fixed point. */
export type ClientClock = {
  now(): number
  setTimeout(run: () => void, ms: number): unknown
  clearTimeout(timer: unknown): void
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export type Socket = {
  send(text: string): void
  close(code?: number, reason?: string): void
  onopen: (() => void) | null
  onmessage: ((event: { data: unknown }) => void) | null
  onclose: ((event: { code: number; reason: string }) => void) | null
  onerror: (() => void) | null
}

export type OpenSocket = (url: string) => Socket

/** For changes in other tabs. Returns the stop function. */
export type WatchStorage = (changed: (key: string | null) => void) => () => void

/** Tells when the person does something. Returns the stop function. */
export type WatchActivity = (active: () => void) => () => void

/** For what one tab does for all: runs nothing while another one is at what has the name. */
export type RunAlone = (run: () => Promise<void>, name: string) => Promise<void>

/** From 0 up to, not including, 1. */
export type Jitter = () => number

/** For one process: what is stored ends with it. */
export function memoryStorage(): KeyValueStorage {
  const values = new Map<string, string>()
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  }
}

/** Monotonic: changes of the system time have no effect. A longer timer than 2^31 - 1 ms would fire immediately. */
export const systemClock: ClientClock = {
  now: () => performance.now(),
  setTimeout: (run, ms) => setTimeout(run, Math.min(ms, 2 ** 31 - 1)),
  clearTimeout: (timer) => clearTimeout(timer as number | undefined),
}

// eslint-disable-next-line no-restricted-properties -- the dependency itself
export const systemJitter: Jitter = Math.random
