import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@gatehouse/test-kit'
import { editProfile } from './acts.ts'
import { checkBadInput } from './bad-input.ts'
import { placeOf, type Scene } from './calls.ts'
import type { Person } from './journal.ts'
import type { PlannedFault } from './plan.ts'

const bystanderLimitMs = 20_000

/** One fault, and its end. `watchers` are people to whom nothing else happens. */
export async function injectFault(scene: Scene, fault: PlannedFault, watchers: readonly Person[]): Promise<void> {
  const place = placeOf(scene, fault.at)
  scene.journal.count(`fault: ${fault.kind}`)
  if (fault.kind !== 'bad input') scene.troubledAt.at = Infinity
  try {
    await carryFault()
  } finally {
    if (fault.kind !== 'bad input') scene.troubledAt.at = performance.now()
  }

  async function carryFault(): Promise<void> {
    switch (fault.kind) {
      case 'bad input':
        return await checkBadInput(scene, place, placeOf(scene, fault.path))
      case 'kill':
        await place.kill()
        await pause(fault.lastsMs)
        return await place.start()
      case 'move':
      case 'keys':
        if (place.kind !== 'ours') return
        await place.kill()
        if (fault.kind === 'move') await place.own.move()
        else place.own.renewKeys()
        return await place.start()
      case 'cut':
      case 'silence':
        place.road.cut(fault.kind === 'cut' ? 'refused' : 'silent')
        await expectNoDelay(scene, fault.at, watchers)
        await pause(fault.lastsMs)
        return place.road.cut('open')
      case 'lose an answer':
        place.road.loseAnswerTo(fault.path)
        return void (await pause(fault.lastsMs))
      case 'rotate': {
        const status = await place.rotate(placeOf(scene, fault.with).origin).catch(() => 0)
        scene.journal.count(`rotations answered with ${status}`)
      }
    }
  }
}

/** A profile that a bystander edits reaches every other instance before the one that is down is back. */
async function expectNoDelay(scene: Scene, down: string, watchers: readonly Person[]): Promise<void> {
  const able = watchers.filter(
    ({ home, life, state }) => home !== down && state === 'present' && life === placeOf(scene, home).life(),
  )
  if (able.length === 0) return
  const watcher = scene.random.pick(able)
  const name = await editProfile(scene, watcher)
  const others = [...watcher.replicas.values()].filter(
    ({ at, state, life }) => at !== down && state === 'present' && life === placeOf(scene, at).life(),
  )
  for (const { at, id } of others) {
    const isThere = async () => {
      const [from, to] = [placeOf(scene, watcher.home), placeOf(scene, at)]
      const [received, sent] = await Promise.all([to.readState(), from.readState()])
      const arePeers = received.peers.get(from.origin) === 'active' && sent.peers.get(to.origin) === 'active'
      return !arePeers || received.users.find((user) => user.id === id)?.displayName === name
    }
    scene.journal.count('profiles of bystanders that arrived')
    await eventually(`${name} is at ${at}`, isThere, bystanderLimitMs).catch(() =>
      scene.journal.violations.push(`while ${down} was down, "${name}" of ${watcher.home} did not reach ${at}`),
    )
  }
}
