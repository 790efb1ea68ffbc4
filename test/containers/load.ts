import { setTimeout as pause } from 'node:timers/promises'
import { callInstance, type Scene } from './scene.ts'

/** A login or a read every 25 ms, until it is stopped; what was not answered with 200 is told. */
export function startRequests(
  scene: Pick<Scene, 'origins'>,
  user: { username: string; password: string; token: string },
) {
  const stopping = new AbortController()
  const failures: string[] = []
  const open = new Set<Promise<void>>()
  let answered = 0
  const { username, password, token } = user

  async function callOnce(round: number): Promise<void> {
    const isLogin = round % 12 === 0
    const what = isLogin ? 'login' : 'read'
    // An address of its own for each, so that the limits by address do not apply: the project trusts its proxy.
    const headers = { 'x-forwarded-for': `198.18.${round % 250}.${1 + (Math.floor(round / 250) % 250)}` }
    try {
      const answer = isLogin
        ? await callInstance(scene, 'POST /api/auth/login', { body: { username, password }, headers })
        : await callInstance(scene, 'GET /api/users/@me', { token, headers })
      answered += 1
      if (answer.status !== 200) failures.push(`${what} ${answer.status} (${answer.body.error ?? ''})`)
    } catch (err) {
      failures.push(`${what} ${String((err as Error).cause ?? err)}`)
    }
  }

  const working = (async () => {
    for (let round = 0; !stopping.signal.aborted; round += 1) {
      const call = callOnce(round).finally(() => open.delete(call))
      open.add(call)
      await pause(25)
    }
  })()

  return {
    async stop(): Promise<{ answered: number; failures: readonly string[] }> {
      stopping.abort()
      await working
      await Promise.all(open)
      return { answered, failures }
    },
  }
}

/** How many of each failure there were. */
export function summarize(failures: readonly string[]): string {
  const groups = Object.entries(Object.groupBy(failures, (failure) => failure))
  return groups.map(([failure, all]) => `${all!.length}x ${failure}`).join(', ') || 'no failure'
}
