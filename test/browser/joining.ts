import type { Instance } from './start-instance.ts'

/** Three registrations that wait, two of them of one network, and an address of alice that is not confirmed. */
export async function insertJoining(instance: Instance): Promise<void> {
  await instance.runSql(
    `insert into registrations (id, receipt_hash, created_at, username, display_name, reason, network, client)
     values (1, 'one', now(), 'rosa', 'Rosa', 'I sing in the choir.', '192.0.2.1', 'Firefox on Linux'),
       (2, 'two', now(), 'robot', null, null, '198.51.100.0', null), (3, 'three', now(), 'robot_2', null, null, '198.51.100.0', null)`,
  )
  await instance.runSql(
    `insert into emails (user_id, address, key, language, notices)
     select id, 'alice@mail.example', 'alice@mail.example', 'en', true from users where username = 'alice'`,
  )
}
