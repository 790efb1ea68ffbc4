/** A server process of one's own, reachable on 127.0.0.1 only; disposing of it ends it and removes its data. */
export type PrivateServer = AsyncDisposable & {
  readonly url: string
  readonly port: number
  /** Of the running process; another one after `start()`. */
  readonly pid: number
  /** Ends it in an orderly way; its data stay. */
  stop(): Promise<void>
  /** Ends it with SIGKILL, children included; its data stay as they are. */
  kill(): Promise<void>
  /** Runs it again on the same port and data. */
  start(): Promise<void>
  /** Freezes it (SIGSTOP): connections stay open, nothing is answered. */
  pause(): void
  resume(): void
}
