import { PostgreSqlDriver, type DriverException, type PostgreSqlConnection } from '@mikro-orm/postgresql'
import { DatabaseUnavailable } from './connection-faults.ts'
import { connectionsForReads, defaultConnections, transactionWaitMs } from './policy.ts'
import { createSlots } from './slots.ts'

type DriverConfiguration = ConstructorParameters<typeof PostgreSqlDriver>[0]
type Transaction = Awaited<ReturnType<PostgreSqlConnection['begin']>>

/**
 * The ORM's driver with faults of the connection as they are (it would turn them into exceptions of the ORM), and with
 * connections that no transaction takes.
 */
export class GuardedDriver extends PostgreSqlDriver {
  constructor(config: DriverConfiguration) {
    super(config)
    limitTransactions(this.connection, config.get('pool').max ?? defaultConnections)
  }

  override convertException(fault: Error): DriverException {
    if (fault instanceof DatabaseUnavailable) return fault
    return super.convertException(fault)
  }
}

/** Reads are answered although transactions wait for locks: those wait here beyond their part of the pool. */
function limitTransactions(connection: PostgreSqlConnection, poolSize: number): void {
  const max = Math.max(1, poolSize - Math.min(connectionsForReads, Math.floor(poolSize / 2)))
  const slots = createSlots({ max, waitMs: transactionWaitMs })
  const taken = new WeakMap<Transaction, () => void>()
  const begin = connection.begin.bind(connection)
  const commit = connection.commit.bind(connection)
  const rollback = connection.rollback.bind(connection)

  connection.begin = async (options = {}) => {
    // A savepoint has the connection of its transaction.
    if (options.ctx) return await begin(options)
    const giveBack = await slots.take()
    try {
      const transaction = await begin(options)
      taken.set(transaction, giveBack)
      return transaction
    } catch (error) {
      giveBack()
      throw error
    }
  }
  // A commit that failed is followed by a rollback.
  connection.commit = async (transaction, ...rest) => {
    await commit(transaction, ...rest)
    taken.get(transaction)?.()
  }
  connection.rollback = async (transaction, ...rest) => {
    try {
      await rollback(transaction, ...rest)
    } finally {
      taken.get(transaction)?.()
    }
  }
}
