import { currentSpan } from '@gatehouse/runtime'
import type { Pool, PoolClient } from 'pg'

const maxTextLength = 2_000

/** A statement outside a span is not measured. */
export function traceQueries(pool: Pool): void {
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown
    client.query = ((...given: unknown[]) => {
      const parent = currentSpan()
      const sql = parent && textOf(given[0])
      if (!parent || sql === undefined) return query(...given)
      const operation = /^[a-z]+/i.exec(sql.trimStart())?.[0].toUpperCase() ?? 'SQL'
      const span = parent.startChild(operation, 'client', {
        'db.system.name': 'postgresql',
        'db.operation.name': operation,
        'db.query.text': withoutValues(sql).slice(0, maxTextLength),
      })
      const result = query(...given)
      if (!(result instanceof Promise)) {
        span.end()
        return result
      }
      return result.then(
        (value: unknown) => {
          span.end()
          return value
        },
        (error: unknown) => {
          span.end(error)
          throw error
        },
      )
    }) as PoolClient['query']
  })
}

function textOf(statement: unknown): string | undefined {
  if (typeof statement === 'string') return statement
  const isConfig = typeof statement === 'object' && statement !== null && 'text' in statement
  return isConfig && typeof statement.text === 'string' ? statement.text : undefined
}

/** Names in quotes and `$1` are kept. Texts and numbers are values. */
const tokens =
  /("[^"]*"|\$\d+)|\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|\$([A-Za-z_]\w*|)\$[\s\S]*?\$\2\$|\b\d+(?:\.\d+)?\b/g

/** The ORM writes values into the text, hashes and tokens among them. */
export function withoutValues(sql: string): string {
  return sql.replace(tokens, (_value, kept: string | undefined) => kept ?? '?')
}
