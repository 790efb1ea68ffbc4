import type { Instance } from './instance.ts'

export type Person = { id: string; username: string; password: string; token: string }

/** Registers somebody, again until it is known to be done. */
export async function registerPerson(instance: Instance, username: string): Promise<Person> {
  const password = `the password of ${username}`
  for (;;) {
    const answer = await instance.call('POST', '/api/auth/register', { body: { username, password } })
    if (answer?.status === 201) return personFrom(answer.body, username, password)
    if (answer?.status === 409) return await signIn(instance, username, password)
  }
}

/** Logs in, again until it works. */
export async function signIn(instance: Instance, username: string, password: string): Promise<Person> {
  for (;;) {
    const answer = await instance.call('POST', '/api/auth/login', { body: { username, password } })
    if (answer?.status === 200) return personFrom(answer.body, username, password)
    if (answer?.status === 401) throw new Error(`${username} cannot log in any more`)
  }
}

function personFrom(body: Record<string, unknown>, username: string, password: string): Person {
  const { token, user } = body as { token: string; user: { id: string } }
  return { id: user.id, username, password, token }
}
