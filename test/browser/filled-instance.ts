import { answered } from '@gatehouse/test-kit'
import { postJson, startInstance, type Instance } from './start-instance.ts'

export const password = 'a long password'
export const farPeer = 'a-long-name-of-an-instance.of.a.long.domain.example'

export type FilledInstance = Instance & {
  /** Of alice, the admin. */
  token: string
  aliceId: string
}

/** An instance where no list that alice, bert or carl sees is empty. Mail goes nowhere. */
export async function startFilledInstance(name: string): Promise<FilledInstance> {
  const instance = await startInstance(name, { smtpUrl: 'smtp://127.0.0.1:9' })
  try {
    const { token, user } = await register(instance, 'alice')
    await register(instance, 'bert')
    await register(instance, 'carl')
    await insertJoining(instance)
    await insertAccess(instance)
    await insertPeers(instance)
    await addInvites(instance, token)
    await instance.runSql("update users set suspended_at = 1, suspended_reason = 'spam' where username = 'carl'")
    await instance.runSql("update users set second_factor = true where username = 'bert'")
    return { ...instance, token, aliceId: user.id }
  } catch (error) {
    await instance[Symbol.asyncDispose]()
    throw error
  }
}

async function register(instance: Instance, username: string): Promise<{ token: string; user: { id: string } }> {
  return (await answered(postJson(instance, '/api/auth/register', { username, password }))).json() as never
}

/** Three registrations that wait, two of them of one network, and an address of alice that is not confirmed. */
async function insertJoining(instance: Instance): Promise<void> {
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

/** Two applications, and alice's passkey and linked identity. */
async function insertAccess(instance: Instance): Promise<void> {
  await instance.runSql(
    `insert into applications (id, name, type, redirect_uris, post_logout_redirect_uris, signals_uri, skip_consent,
       access_tokens, suspended_at, created_at)
     values (1, 'Wiki', 'confidential', '["https://wiki.example/cb"]', '[]', 'https://wiki.example/s', false,
         'opaque', null, now()),
       (2, 'Forum', 'public', '["com.example.forum:/cb"]', '[]', null, true, 'jwt', now(), now())`,
  )
  await instance.runSql(
    `insert into application_consents (account_id, application_id, scopes, granted_at)
     select id, 1, '["openid", "profile"]', now() from users where username = 'alice'`,
  )
  await instance.runSql(
    `insert into passkeys (id, user_id, credential_id, public_key, counter, name, created_at)
     select 1, id, 'id', 'key', 0, 'phone', now() from users where username = 'alice'`,
  )
  await instance.runSql(
    `insert into linked_identities (id, user_id, provider, issuer, subject, linked_at)
     select 1, id, 'uni', 'https://uni.example', '1', now() from users where username = 'alice'`,
  )
}

/** One of each state, and alice's identity at the first. */
async function insertPeers(instance: Instance): Promise<void> {
  await instance.runSql(
    `insert into peers (id, origin, host, secret, status, activated_at)
     values (1, 'https://b.example', 'b.example', 'none', 'active', now()),
       (2, 'https://c.example', 'c.example', 'none', 'needs_attention', now()),
       (3, 'https://${farPeer}', '${farPeer}', 'none', 'revoked', now())`,
  )
  await instance.runSql("update users set replicated_instances = ? where username = 'alice'", [
    JSON.stringify([{ origin: 'https://b.example', username: 'alice' }]),
  ])
}

/** One that bert has used, and an expired one. */
async function addInvites(instance: Instance, token: string): Promise<void> {
  for (const name of ['Friends', 'Old'])
    await answered(postJson(instance, '/api/admin/invites', { name, maxUses: 3, expiresAt: null }, token))
  await instance.runSql('update instance_settings set member_invites = 5, approval_required = true')
  await instance.runSql("update invites set used_count = 1, by_member = true where name = 'Friends'")
  await instance.runSql(
    `insert into invite_redemptions (id, invite_id, user_id, registrant_username, redeemed_at)
     select next_snowflake(), invites.id, users.id, username, now() from invites, users
     where name = 'Friends' and username = 'bert'`,
  )
  await instance.runSql("update invites set expires_at = now() - interval '1 day' where name = 'Old'")
}
