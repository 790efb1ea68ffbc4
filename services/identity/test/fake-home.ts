import type { Outbound, OutboundAnswer, OutboundRequest } from '@gatehouse/outbound'

type Login = { username: string; password: string }
type HomeUser = { id: unknown; password: string }
type Answer = { status: number; body: string }

/** Home instances, all with the same users by name. They answer logins as existing ones do. protocol.md 4.2. */
export function fakeHome(users: Record<string, HomeUser>) {
  const answerOf = ({ username, password }: Login): Answer => {
    const user = home.users[username]
    if (user?.password !== password) return { status: 401, body: '{"code":"invalid_credentials"}' }
    return { status: 200, body: JSON.stringify({ token: 'at home', user: { id: user.id, username } }) }
  }
  const home = {
    users,
    asked: [] as OutboundRequest[],
    /** What was sent, oldest first. */
    logins: () => home.asked.map(({ body }) => JSON.parse(String(body)) as Login),
    /** Before an answer. */
    meanwhile: async (): Promise<unknown> => undefined,
    answer: answerOf,
    outbound: {
      request: async (request: OutboundRequest): Promise<OutboundAnswer> => {
        home.asked.push(request)
        await home.meanwhile()
        const { status, body } = home.answer(JSON.parse(String(request.body)) as Login)
        return { status, headers: {}, body: Buffer.from(body) }
      },
      [Symbol.asyncDispose]: async () => undefined,
    } satisfies Outbound,
  }
  return home
}
