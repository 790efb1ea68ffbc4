import type { Log } from '@gatehouse/service-kit'

/** How one request ended. */
export type AccessEntry = {
  requestId: string
  method: string | undefined
  /** As the contract writes it; never the path or the query, which may hold an invite token. */
  route: string
  status: number
  seconds: number
  /** Of the account whose live token came with it. */
  userId: string | undefined
  clientAddress: string
}

/** One line for each request, by whose id an operator finds what a user reports. Contract: 1. */
export type AccessLog = (entry: AccessEntry) => void

/** What load balancers and page loads ask for again and again: their lines are for debugging. */
const frequentRoutes = new Set(['/api/health', 'web'])

/** `logAddresses`: whether the lines have the client's address, which is personal data. */
export function createAccessLog(log: Log, { logAddresses }: { logAddresses: boolean }): AccessLog {
  // The fields are these and no others. Looking for secrets among them would cost eight times the line itself.
  const lines = log.child({}, { redact: [] })
  return ({ requestId, method, route, status, seconds, userId, clientAddress }) => {
    const level = frequentRoutes.has(route) || method === 'OPTIONS' ? 'debug' : 'info'
    if (!lines.isLevelEnabled(level)) return
    const ms = Math.round(seconds * 10_000) / 10
    const address = logAddresses ? clientAddress : undefined
    lines[level]({ requestId, method, route, status, ms, userId, address }, 'request')
  }
}
