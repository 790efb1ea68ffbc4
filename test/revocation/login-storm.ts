import { setTimeout as pause } from 'node:timers/promises'
import type { Account } from './accounts.ts'
import { logIn } from './changes.ts'

const everyMs = 50
const devices = 200

/** Logs in twenty times a second, on many devices, until it is stopped. `stop` gives the tokens that were answered by then. */
export function startLogins(account: Account, gateways: readonly string[]): { stop(): string[] } {
  const tokens: string[] = []
  let isStopped = false
  const one = async (device: number) => {
    const token = await logIn(account, gateways[device % gateways.length]!, device)
    if (token !== undefined && !isStopped) tokens.push(token)
  }
  const run = async () => {
    for (let device = 1; !isStopped; device = (device % devices) + 1) {
      void one(device)
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
