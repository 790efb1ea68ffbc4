import type { Log } from '@gatehouse/service-kit'

export type AccessEntry = {
  requestId: string
  method: string | undefined
  /** Never the path or the query, which may hold an invite token. */
  route: string
  status: number
  seconds: number
  userId: string | undefined
  clientAddress: string
}

/** Contract: 1. */
export type AccessLog = (entry: AccessEntry) => void

const frequentRoutes = new Set(['/api/health', 'web'])

/** Addresses are personal data. */
export function createAccessLog(log: Log, { logAddresses }: { logAddresses: boolean }): AccessLog {
  // Searching for secrets would cost eight times the line. These fields hold none.
  const lines = log.child({}, { redact: [] })
  return ({ requestId, method, route, status, seconds, userId, clientAddress }) => {
    const level = frequentRoutes.has(route) || method === 'OPTIONS' ? 'debug' : 'info'
    if (!lines.isLevelEnabled(level)) return
    const ms = Math.round(seconds * 10_000) / 10
    const address = logAddresses ? clientAddress : undefined
    lines[level]({ requestId, method, route, status, ms, userId, address }, 'request')
  }
}
