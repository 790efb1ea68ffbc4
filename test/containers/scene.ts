import { callApi } from '../api.ts'
import type { Engine } from './engine.ts'
import type { Project } from './project.ts'

/** What the checks look at: a running project, and its published addresses. */
export type Scene = { engine: Engine; project: Project; secrets: string; image: string; origins: readonly string[] }

/** Gives the evidence. Throws when it fails. */
export type Check = { name: string; run(scene: Scene): Promise<string> }

export const processes = ['gateway', 'identity', 'invite', 'session-gateway', 'federation-fanout', 'openid'] as const

export function expectThat(condition: boolean, otherwise: string): void {
  if (!condition) throw new Error(otherwise)
}

type CallOptions = Parameters<typeof callApi>[2]

/**
 * No connection was made, so nothing was sent. The last one: a published port leads for a moment to an address that a
 * removed container had.
 */
const notConnected = ['ECONNREFUSED', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT']

/** Calls the instance through the first published address that takes the connection, as a proxy does. */
export async function callInstance({ origins }: Pick<Scene, 'origins'>, request: string, options?: CallOptions) {
  for (const origin of origins.slice(0, -1)) {
    try {
      return await callApi(origin, request, options)
    } catch (err) {
      const { code } = ((err as Error).cause ?? {}) as { code?: string }
      if (!notConnected.includes(code ?? '')) throw err
    }
  }
  return await callApi(origins.at(-1)!, request, options)
}

/** Runs a program of one line in a container's own Node. */
export function evaluate({ engine }: Pick<Scene, 'engine'>, container: string, program: string): Promise<string> {
  return engine.run('exec', container, 'node', '--input-type=module', '--eval', program)
}

/** The sum of a metric's samples in a container. */
export async function readMetric(scene: Scene, container: string, port: number, pattern: RegExp): Promise<number> {
  const url = `http://127.0.0.1:${port}/metrics`
  const text = await evaluate(scene, container, `console.log(await (await fetch('${url}')).text())`)
  const samples = text.split('\n').filter((line) => pattern.test(line))
  return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

const shownWarnings = 60

/** What the containers that still run have logged since then: warnings or worse, and requests answered with 5xx. */
export async function readWarnings({ engine, project }: Scene, since: Date): Promise<string[]> {
  const warnings: string[] = []
  for (const service of processes) {
    for (const container of await project.containers(service)) {
      const logged = await engine.run('logs', '--since', since.toISOString(), container)
      warnings.push(...logged.split('\n').filter((line) => /"level":"(warn|error|fatal)"|"status":5/.test(line)))
    }
  }
  return warnings.slice(0, shownWarnings)
}

/** The only container of a service, or its oldest one. */
export async function firstOf({ project }: Pick<Scene, 'project'>, service: string): Promise<string> {
  const [container] = await project.containers(service)
  expectThat(container !== undefined, `${service} has no container`)
  return container!
}
