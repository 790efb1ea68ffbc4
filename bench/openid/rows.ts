import type { Client } from 'pg'

/** Of each account: one grant at each application. */
export const applicationsOfAccount = 10

/** Ids that the library would have drawn. Access tokens have 43 characters, refresh tokens 44. */
export const idsOf = (grant: number) => ({
  accessToken: `access-${String(grant).padStart(36, '0')}`,
  refreshToken: `refresh-${String(grant).padStart(36, '0')}`,
})

const hashed = (text: string): string => `encode(sha256((${text})::bytea), 'hex')`
const idText = (prefix: string): string => `'${prefix}-' || lpad(g::text, 36, '0')`

const rowSql = (model: string, id: string, payload: string, where = '') => `
  insert into openid_rows (model, id_hash, payload, grant_id, account_id, application_id, token_issued_at, created_at, expires_at)
  select '${model}', ${hashed(id)}, jsonb_build_object('kind', '${model}', 'iat', $2::bigint, 'exp', $2::bigint + 86400,
      'accountId', account::text, 'clientId', application) || ${payload},
    ${model === 'Grant' ? 'null' : hashed(`'grant' || g`)}, account, application::bigint,
    ${model === 'Grant' ? '$2::bigint' : 'null'}, to_timestamp($2::bigint), to_timestamp($2::bigint + 86400)
  from (select g, (g - 1) / ${applicationsOfAccount} + 1 as account,
      ($3::text[])[(g - 1) % ${applicationsOfAccount} + 1] as application from generate_series(1, $1::int) g) as grants ${where}`

const scope = 'openid profile offline_access'
const ofToken = `jsonb_build_object('grantId', 'grant' || g, 'gty', 'authorization_code', 'scope', '${scope}')`

/**
 * So many grants, those of the first application with an access token and a refresh token. Accounts 1, 2, 3 … have one grant at
 * each application, and a consent.
 */
export async function insertGrants(client: Client, grants: number, applications: readonly string[]): Promise<void> {
  await client.query(`set synchronous_commit = off; set maintenance_work_mem = '512MB'`)
  const createIndexes = await dropIndexes(client, ['openid_rows', 'application_consents'])
  const accounts = grants / applicationsOfAccount
  await client.query(
    `insert into users (id, username, password_hash) select n, 'person_' || n, '!none' from generate_series(1, $1::int) n`,
    [accounts],
  )
  const values = [grants, Math.floor(Date.now() / 1000), applications]
  const granted = `jsonb_build_object('openid', jsonb_build_object('scope', '${scope}'))`
  await client.query(rowSql('Grant', `'grant' || g`, granted), values)
  const ofFirst = `where g % ${applicationsOfAccount} = 1`
  await client.query(rowSql('RefreshToken', idText('refresh'), ofToken, ofFirst), values)
  await client.query(rowSql('AccessToken', idText('access'), ofToken, ofFirst), values)
  await client.query(
    `insert into application_consents (account_id, application_id, scopes, granted_at)
     select n, application::bigint, '["openid", "profile", "offline_access"]', now()
     from generate_series(1, $1::int) n, unnest($2::text[]) as application`,
    [accounts, applications],
  )
  for (const create of createIndexes) await client.query(create)
  await client.query('vacuum analyze')
}

/** But the primary keys. Gives what creates them again: rows come faster without them. */
async function dropIndexes(client: Client, tables: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes where tablename = any($1) and indexname !~ '_pkey$'`,
    [tables],
  )
  for (const { name } of rows) await client.query(`drop index ${name}`)
  return rows.map(({ definition }) => definition)
}

/** Which the next sweep removes. */
export async function insertExpired(client: Client, count: number): Promise<void> {
  await client.query(
    `insert into openid_rows (model, id_hash, payload, created_at, expires_at)
     select 'Interaction', gen_random_uuid(), '{}', now() - interval '1 hour', now() - interval '1 minute'
     from generate_series(1, $1::int)`,
    [count],
  )
}
