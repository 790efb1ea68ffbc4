import { PostgreSqlDriver, type DriverException, type PostgreSqlConnection } from '@mikro-orm/postgresql'
import { DatabaseUnavailable } from './driver.ts'
import { connectionsForReads, defaultConnections, transactionWaitMs } from './policy.ts'
import { createSlots } from './slots.ts'

type DriverConfiguration = ConstructorParameters<typeof PostgreSqlDriver>[0]
type Transaction = Awaited<ReturnType<PostgreSqlConnection['begin']>>

/** The ORM would wrap connection faults in its own exceptions. */
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

/** Waiting transactions leave connections for reads. */
function limitTransactions(connection: PostgreSqlConnection, poolSize: number): void {
  const max = Math.max(1, poolSize - Math.min(connectionsForReads, Math.floor(poolSize / 2)))
  const slots = createSlots({ max, waitMs: transactionWaitMs })
  const taken = new WeakMap<Transaction, () => void>()
  const begin = connection.begin.bind(connection)
  const commit = connection.commit.bind(connection)
  const rollback = connection.rollback.bind(connection)

  connection.begin = async (options = {}) => {
    // A savepoint uses its transaction's connection.
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
