import { lookup, type LookupAddress } from 'node:dns'
import { Socket, type LookupFunction } from 'node:net'
import { slowLookupMs } from './policy.ts'

type Resolve = (host: string, answer: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void) => void

/** Gives the earlier addresses when name servers fail or need more than `slowMs`: a lost packet costs seconds. */
export function rememberAddresses(
  resolve: Resolve = (host, answer) => lookup(host, { all: true }, answer),
  slowMs = slowLookupMs,
): LookupFunction {
  const lastOf = new Map<string, LookupAddress[]>()
  return (host, { all }, callback) => {
    const last = lastOf.get(host)
    let isAnswered = false
    function answer(error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
      if (isAnswered) return
      isAnswered = true
      clearTimeout(timer)
      const [first] = addresses
      if (all || !first) callback(error, addresses)
      else callback(error, first.address, first.family)
    }
    const timer = last && setTimeout(() => answer(null, last), slowMs)
    resolve(host, (error, addresses) => {
      if (!error) lastOf.set(host, addresses)
      if (error) answer(last ? null : error, last ?? [])
      else answer(null, addresses)
    })
  }
}

const lookupRemembered = rememberAddresses()

/** pg has no option for the lookup of names. */
export class DatabaseSocket extends Socket {
  override connect(...target: unknown[]): this {
    const [port, host] = target
    if (typeof port !== 'number' || typeof host !== 'string') return super.connect(...(target as [string]))
    return super.connect({ port, host, lookup: lookupRemembered })
  }
}
