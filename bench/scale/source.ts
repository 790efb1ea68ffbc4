import { DatabaseSync } from 'node:sqlite'
import { newestVersion, writeOtherDatabase } from '../../deploy/test/other-server.ts'

/** A database of the other chat server with so many accounts, a tenth of them of other instances. */
export function writeSource(file: string, accounts: number): void {
  const settings = { id: 1, instance_id: '0f8fad5b-d9cb-469f-a165-70867728950e', worker_id: 7, registration_open: 1 }
  writeOtherDatabase(file, { instance_settings: [settings] }, { version: newestVersion })
  const database = new DatabaseSync(file)
  database.exec(`
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${accounts})
    insert into users (id, username, password_hash, is_admin, is_deleted, home_instance, home_user_id,
      discoverable, show_activity, created_at)
    select cast(((192600000000 + n) << 22) + 7 as text),
      case when n % 10 = 0 then 'user' || n || '@h' || (n % 1000) || '.example' else 'user' || n end,
      '$2a$12$' || substr('abcdefghijklmnopqrstuvabcdefghijklmnopqrstuvabcdefghijklmnopqrstuv', n % 10 + 1, 53),
      n = 1, 0, case when n % 10 = 0 then 'h' || (n % 1000) || '.example' end, case when n % 10 = 0 then cast(n as text) end,
      1, 1, 1750000000000 + n
    from numbers`)
  database.close()
}
