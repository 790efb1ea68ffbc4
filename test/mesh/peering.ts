import { setTimeout as pause } from 'node:timers/promises'
import type { Scene } from './calls.ts'
import type { Place } from './places.ts'

const lookMs = 700
/** Looks without a change, until an admin begins anew. */
const patience = 12

/** Peers every two, by a request of one and, where that one asks, the approval of the other's admin. */
export async function peerAll(scene: Scene, limitMs: number): Promise<void> {
  const places = [...scene.places.values()]
  const deadline = performance.now() + limitMs
  const waited = new Map<string, number>()
  for (;;) {
    const views = new Map(await Promise.all(places.map(async (one) => [one.name, await one.readState()] as const)))
    const state = (one: Place, other: Place) => views.get(one.name)?.peers.get(other.origin)
    const open = pairsOf(places).filter(
      ([one, other]) => state(one, other) !== 'active' || state(other, one) !== 'active',
    )
    if (open.length === 0) return
    if (performance.now() > deadline) {
      for (const [one, other] of open) {
        const states = `${state(one, other)} and ${state(other, one)}`
        scene.journal.violations.push(`${one.name} and ${other.name} are no peers: ${states}`)
      }
      return
    }
    for (const place of places) scene.journal.count('requests approved', await place.approveAll())
    for (const [one, other] of open) {
      const key = `${one.name} ${other.name}`
      const count = (waited.get(key) ?? 0) + 1
      waited.set(key, count)
      await help(scene, [one, other], { states: [state(one, other), state(other, one)], count })
    }
    await pause(lookMs)
  }
}

export function pairsOf(places: readonly Place[]): [Place, Place][] {
  return places.flatMap((one, index) => places.slice(index + 1).map((other): [Place, Place] => [one, other]))
}

type Standing = { states: (string | undefined)[]; count: number }

/** What the two admins do, seeing the state on their side. */
async function help(scene: Scene, pair: [Place, Place], { states, count }: Standing): Promise<void> {
  const [one, other] = pair
  if (count % patience === 0) {
    scene.journal.count('peerings begun anew by both admins')
    await one.forget(other.origin)
    await other.forget(one.origin)
    return void (await one.initiate(other.origin))
  }
  for (const [mine, theirs, state] of [
    [one, other, states[0]],
    [other, one, states[1]],
  ] as const) {
    if (state === 'needs_attention') {
      scene.journal.count('peers reset by an admin')
      await mine.reset(theirs.origin)
    } else if (state === 'rejected' || state === 'revoked') await mine.forget(theirs.origin)
    else if (state === 'unreachable') await mine.recheck(theirs.origin)
    // The other one lost what it had of us: asked, it shows another instance.
    else if (state === 'active' && count % 2 === 0) await mine.recheck(theirs.origin)
  }
  const [initiator, responder] = states[0] === undefined ? [one, other] : [other, one]
  const isUnknown = states[0] === undefined || states[1] === undefined
  if (isUnknown && count % 3 === 1) await initiator.initiate(responder.origin)
}
