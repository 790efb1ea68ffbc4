import { setTimeout as pause } from 'node:timers/promises'
import { callApi } from '../api.ts'
import type { MeshClock } from './clock.ts'
import type { Random } from '../fuzz/random.ts'
import type { Journal, Person } from './journal.ts'
import type { Place } from './places.ts'

export type Scene = {
  places: Map<string, Place>
  journal: Journal
  random: Random
  clock: MeshClock
  /** When something was last down, by `performance.now()`; Infinity while it is. */
  troubledAt: { at: number }
  log(line: string): void
}

export type Answer = Awaited<ReturnType<typeof callApi>>

const repeatMs = 250
/** Of one act, faults and their repair included. */
export const actLimitMs = 120_000
/** A call that began in trouble may be answered after it. */
const afterTroubleMs = 25_000
const whereOthersAreDown = new Set([502, 503, 504])

export function placeOf(scene: Scene, name: string): Place {
  const place = scene.places.get(name)
  if (!place) throw new Error(`no place ${name}`)
  return place
}

/** Notes what no answer may be: a fault of the server, or 502 to 504 while nothing was down. */
export function noteStatus(scene: Scene, what: string, status: number): void {
  if (status < 500) return
  const isTroubled = performance.now() - scene.troubledAt.at < afterTroubleMs
  if (whereOthersAreDown.has(status) && isTroubled) return scene.journal.count(`answers with ${status} in trouble`)
  scene.journal.violations.push(`${what} was answered with ${status}${isTroubled ? '' : ', while nothing was down'}`)
}

/** Null when no answer came: what became of the request is unknown. Each call comes from an address of its own. */
export async function call(
  scene: Scene,
  place: Place,
  request: string,
  options: { token?: string; body?: object } = {},
): Promise<Answer | null> {
  const address = `203.${scene.random.below(256)}.${scene.random.below(256)}.${scene.random.below(256)}`
  try {
    const answer = await callApi(place.url(), request, { ...options, headers: { 'X-Forwarded-For': address } })
    scene.journal.count(`answers with ${answer.status}`)
    if (place.kind === 'ours') noteStatus(scene, `${place.name} ${request}`, answer.status)
    if (answer.body.token) scene.journal.secrets.add(answer.body.token)
    return answer
  } catch {
    scene.journal.count('calls without an answer')
    return null
  }
}

/** Repeats until there is an outcome. Null after a minute: it stays unknown. */
export async function repeat<T>(attempt: () => Promise<T | null>, limitMs: number = actLimitMs): Promise<T | null> {
  const deadline = performance.now() + limitMs
  do {
    const outcome = await attempt()
    if (outcome !== null) return outcome
    await pause(repeatMs)
  } while (performance.now() < deadline)
  return null
}

export async function logIn(scene: Scene, place: Place, username: string, password: string): Promise<Answer | null> {
  return await call(scene, place, 'POST /api/auth/login', { body: { username, password } })
}

/** With the person's token at home; a new one where the old one was ended unseen. */
export async function asPerson(scene: Scene, person: Person, request: string, body: object): Promise<Answer | null> {
  const home = placeOf(scene, person.home)
  const answer = await call(scene, home, request, { token: person.token, body })
  if (answer?.status !== 401) return answer
  const again = await logIn(scene, home, person.name, person.password)
  if (again?.status !== 200) return null
  person.token = again.body.token ?? ''
  return await call(scene, home, request, { token: person.token, body })
}

export function step(person: Person, what: string): void {
  person.steps.push(`${(performance.now() / 1000).toFixed(1)} s  ${what}`)
}
