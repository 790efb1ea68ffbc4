import { setTimeout as pause } from 'node:timers/promises'
import type { Account } from './accounts.ts'
import { logIn } from './changes.ts'

const everyMs = 50

/** Logs in twenty times a second, on many devices, until it is stopped. `stop` gives the tokens that were answered by then. */
export function startLogins(account: Account, gateways: readonly string[]): { stop(): string[] } {
  const tokens: string[] = []
  let isStopped = false
  const one = async (nth: number) => {
    const token = await logIn(account, gateways[nth % gateways.length]!, nth)
    if (token !== undefined && !isStopped) tokens.push(token)
  }
  const run = async () => {
    for (let nth = 8; !isStopped; nth += 1) {
      void one(nth)
      await pause(everyMs)
    }
  }
  void run()
  return {
    stop() {
      isStopped = true
      return tokens
    },
  }
}
