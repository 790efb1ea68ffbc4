import { DatabaseError } from 'pg'

/**
 * The SQLSTATEs by which PostgreSQL says that it cannot do the work now. Every other one is 500, or a violated constraint
 * that its caller turns into a refusal: most are faults of the statement, 55006 (a database in use) among them. XX is a
 * fault of PostgreSQL itself or of its data, which no repetition mends. Contract: 8, PostgreSQL.
 */
const serverFaults = {
  /** Again later. 08: the connection broke. 57P: shutdown, crash, start, a dropped database. 25P: a limit of the server. */
  lost: { states: /^(08...|57P..|25P0[34])$/, message: 'the connection to PostgreSQL was refused or lost' },
  /** Again later. 55P03: a lock was not free in time. 570: the statement was canceled, mostly by its own limit. */
  late: { states: /^(55P03|570..)$/, message: 'PostgreSQL ended a statement in time' },
  /** Again at once. 40P01: a deadlock. 40001: on a standby, the statement was in the way of what it replays. */
  conflict: { states: /^(40001|40P01)$/, message: 'PostgreSQL ended a transaction in favor of another' },
  /** Not now. The server is a standby, or its operator or provider has set it so. */
  readOnly: { states: /^25006$/, message: 'PostgreSQL is read-only (a standby, or default_transaction_read_only)' },
  /** Not now. 53: disk, memory or connections are used up. 58: the server cannot read or write its files. */
  exhausted: { states: /^(53...|58...)$/, message: 'PostgreSQL is out of disk, memory, connections or files' },
  /** Not until an operator acts. 28: the login. 3D000: the database is gone. 42501: a grant is. */
  denied: { states: /^(28...|3D000|42501)$/, message: 'PostgreSQL denies the login, the database or a grant' },
} as const

export type ServerFault = keyof typeof serverFaults

const names = Object.keys(serverFaults) as ServerFault[]

/** Undefined for a fault of the statement, and for an error that PostgreSQL has not sent. */
export function serverFaultOf(error: unknown): ServerFault | undefined {
  const state = error instanceof DatabaseError ? error.code : undefined
  return state === undefined ? undefined : names.find((name) => serverFaults[name].states.test(state))
}

/** With the words of PostgreSQL, which name what it denies, where the cause is given. */
export function explainServerFault(fault: ServerFault, cause?: unknown): string {
  const { message } = serverFaults[fault]
  return fault === 'denied' && cause instanceof Error ? `${message}: ${cause.message}` : message
}
