import type { InstanceClient } from './instance-client.ts'

export type TestUser = { id: string; username: string; password: string; token: string }

/** Registers a user; repeated until the outcome is known. */
export async function registerUser(instance: InstanceClient, username: string): Promise<TestUser> {
  const password = `the password of ${username}`
  for (;;) {
    const answer = await instance.call('POST', '/api/auth/register', { body: { username, password } })
    if (answer?.status === 201) return userFrom(answer.body, username, password)
    if (answer?.status === 409) return await logIn(instance, username, password)
  }
}

/** Logs in; repeated until it succeeds. */
export async function logIn(instance: InstanceClient, username: string, password: string): Promise<TestUser> {
  for (;;) {
    const answer = await instance.call('POST', '/api/auth/login', { body: { username, password } })
    if (answer?.status === 200) return userFrom(answer.body, username, password)
    if (answer?.status === 401) throw new Error(`${username} cannot log in any more`)
  }
}

function userFrom(body: Record<string, unknown>, username: string, password: string): TestUser {
  const { token, user } = body as { token: string; user: { id: string } }
  return { id: user.id, username, password, token }
}
