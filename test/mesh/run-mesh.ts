import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createScratchFolder } from '@gatehouse/local-servers'
import { createAuthority } from '../../libs/database/test/certificates.ts'
import { seededRandom, type Random } from '../fuzz/random.ts'
import { startReferencePeer } from '../reference-peer/reference-peer.ts'
import { beBorn, carryOut } from './acts.ts'
import { noteStatus, placeOf, type Scene } from './calls.ts'
import { changePace, startMeshClock, type MeshClock } from './clock.ts'
import { injectFault } from './faults.ts'
import { createJournal, newPerson, type Journal, type Person } from './journal.ts'
import { judge, type Finding, type World } from './judge.ts'
import { startOurs } from './our-instance.ts'
import { judgePasswords } from './passwords.ts'
import { peerAll } from './peering.ts'
import { newSecret, referencePlace, type Place } from './places.ts'
import { planRound, type PlannedPerson, type Size } from './plan.ts'
import { judgeRecycledNames } from './recycled-names.ts'
import { startRoad, type Road } from './road.ts'

export type MeshOptions = {
  seed: number
  size: { ours: number; references: number; peopleAtEach: number; actsOfEach: number; faults: number }
  /** Rounds begin until then; one at least. */
  minutes: number
  log(line: string): void
}
export type MeshRun = { seed: number; journal: Journal; findings: Finding[]; world: World; seconds: number }

/** A quarter of an hour, after which instances sync, is 45 seconds. */
const pace = 20
/** A home is asked for ten seconds, in which a machine under load has to hash. */
const paceOfLogins = 2
const peeringLimitMs = 120_000
const settleLimitMs = 150_000
const actsAtOnce = 6
const betweenFaultsMs = 400
const betweenLooksMs = 250
const promptMs = 500
const ourNames = ['amber', 'birch', 'cedar', 'dune', 'ember', 'fjord']
const referenceNames = ['nova', 'orbit', 'pulsar', 'quasar', 'rigel', 'sirius', 'titan', 'umbra']

/**
 * Peers instances, lets people act across them while instances fail, and judges what is left by what was acknowledged.
 * Contract: 7, as a whole; docs/federation/protocol.md.
 */
export async function runMesh({ seed, size, minutes, log }: MeshOptions): Promise<MeshRun> {
  const startedAt = performance.now()
  await using resources = new AsyncDisposableStack()
  const random = seededRandom(seed)
  const names = { ours: ourNames.slice(0, size.ours), references: referenceNames.slice(0, size.references) }
  const scene = await startPlaces(resources, { random, names, log })
  const { journal } = scene
  const say = (what: string) => log(`${((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${what}`)
  say(`${scene.places.size} instances have started`)
  const over = new AbortController()
  resources.defer(() => over.abort())
  void noteSlowness(scene, over.signal)
  await peerAll(scene, peeringLimitMs)
  say('they are peers')
  const watchers = await connectWatchers(scene)
  const planSize: Size = { ...size, ...names }
  for (let round = 1; round === 1 || performance.now() - startedAt < minutes * 60_000; round += 1) {
    // Calls draw from the other generator, as many as it takes.
    const planning = seededRandom(seed * 1_000 + round)
    const plan = planRound(planning, planSize, round)
    let isOver = false as boolean
    const acting = carryAll(scene, plan.people).finally(() => (isOver = true))
    for (const fault of plan.faults) {
      await pause(betweenFaultsMs)
      say(`${fault.kind}: ${fault.at}`)
      await injectFault(scene, fault, watchers)
      if (isOver) journal.count('faults after the last act')
    }
    await acting
    say(`round ${round} is over`)
    for (const { road } of scene.places.values()) road.cut('open')
    await peerAll(scene, peeringLimitMs)
    say('they are peers again')
    if (round === 1) await loseData(scene, planning, say)
  }
  const findings = await settle(scene)
  say(`settled, with ${findings.length} findings`)
  slowDown(scene)
  findings.push(...(await judgePasswords(scene, journal.people)))
  const world = await look(scene)
  findings.push(...(await judgeRecycledNames(scene)))
  findings.push(...journal.violations.map((what) => ({ what })))
  const seconds = (performance.now() - startedAt) / 1000
  return { seed, journal, findings, world, seconds }
}

/**
 * On a machine that is slow at a request that needs no other process, locks and statements end at their limits: that is trouble too.
 * The median of all instances tells: one that blocks itself excuses nothing.
 */
async function noteSlowness(scene: Scene, over: AbortSignal): Promise<void> {
  const ours = [...scene.places.values()].filter(({ kind }) => kind === 'ours')
  const ask = async (place: Place): Promise<number> => {
    const askedAt = performance.now()
    const signal = AbortSignal.any([over, AbortSignal.timeout(10 * promptMs)])
    const isUp = await fetch(`${place.url()}/api/health`, { signal })
      .then(async (response) => (await response.text(), response.ok))
      .catch(() => false)
    return isUp ? performance.now() - askedAt : 0
  }
  while (!over.aborted) {
    const took = (await Promise.all(ours.map(ask))).toSorted((one, other) => one - other)
    if (took[Math.floor((took.length - 1) / 2)]! > promptMs) {
      scene.troubledAt.at = Math.max(scene.troubledAt.at, performance.now())
      scene.journal.count('slow answers of GET /api/health')
    }
    await pause(betweenLooksMs)
  }
}

type Starting = { random: Random; names: { ours: string[]; references: string[] }; log: Scene['log'] }

async function startPlaces(resources: AsyncDisposableStack, { random, names, log }: Starting): Promise<Scene> {
  const [journal, clock, troubledAt] = [createJournal(), startMeshClock(pace), { at: performance.now() }]
  const places = new Map<string, Place>()
  const scene: Scene = { places, journal, random, clock, troubledAt, log }
  const authority = createAuthority('the mesh')
  const all = [...names.ours, ...names.references]
  const certificate = authority.sign({ names: all.map((name) => `${name}.test`) })
  const folder = await createScratchFolder('mesh')
  const certificateFile = join(folder, 'ca.crt')
  await writeFile(certificateFile, authority.cert)
  const roads = new Map<string, Road>()
  for (const name of all) {
    const road = await startRoad(name, {
      certificate,
      passed: ({ to, request, status }) => {
        journal.count(`answers of peers with ${status}`)
        if (names.ours.includes(to)) noteStatus(scene, `${to} ${request}, of a peer,`, status)
      },
      overheard: (secret) => void journal.secrets.add(secret),
    })
    roads.set(name, resources.use(road))
  }
  const resolve = all.map((name) => `${name}.test=127.0.0.1:${roads.get(name)!.tlsPort}`).join(',')
  const addresses = new Map(all.map((name) => [`https://${name}.test`, roads.get(name)!.address]))
  const asks = () => random.chance(0.3)
  const starting = names.ours.map((name) => {
    const options = { name, origin: `https://${name}.test`, road: roads.get(name)!, certificateFile }
    return startOurs({ ...options, resolve, clock, journal, autoAccept: !asks() })
  })
  for (const place of await Promise.all(starting)) places.set(place.name, resources.use(place))
  for (const [index, name] of names.references.entries()) {
    places.set(
      name,
      await startReference(resources, { name, index, road: roads.get(name)!, addresses, clock, journal, asks }),
    )
  }
  return scene
}

type Reference = {
  name: string
  index: number
  road: Road
  addresses: Map<string, string>
  clock: MeshClock
  journal: Journal
  asks: () => boolean
}

/** Both generations in turn. */
async function startReference(resources: AsyncDisposableStack, reference: Reference): Promise<Place> {
  const { name, index, road, addresses, clock, journal, asks } = reference
  const [origin, minuteMs] = [`https://${name}.test`, 60_000 / pace]
  const peer = await startReferencePeer({
    publicOrigin: origin,
    instanceName: name,
    resolve: addresses,
    clock,
    generation: index % 2 === 0 ? 1 : 2,
    timers: { outboxMs: 500, quarterHourMs: 15 * minuteMs, hourMs: 60 * minuteMs },
    settings: { limits: false, autoAcceptPeering: !asks() },
    newSecret: () => {
      const secret = newSecret()
      journal.secrets.add(secret)
      return secret
    },
  })
  resources.use(peer)
  return referencePlace(name, origin, road, peer)
}

/** One at each instance, connected to every other one; nothing happens to them but what a fault asks. */
async function connectWatchers(scene: Scene): Promise<Person[]> {
  const homes = [...scene.places.values()]
  const watchers = homes.map((home) => newPerson(scene.journal, `watcher_${home.name}`, home))
  await Promise.all(
    watchers.map(async (watcher) => {
      await beBorn(scene, watcher)
      for (const { name } of homes.filter((one) => one.name !== watcher.home)) {
        await carryOut(scene, watcher, { kind: 'connect', at: name })
      }
    }),
  )
  return watchers
}

async function carryAll(scene: Scene, planned: readonly PlannedPerson[]): Promise<void> {
  const waiting = [...planned]
  await Promise.all(
    Array.from({ length: actsAtOnce }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const person = newPerson(scene.journal, next.name, placeOf(scene, next.home))
        await beBorn(scene, person)
        for (const act of next.acts) await carryOut(scene, person, act)
      }
    }),
  )
}

/** One of ours or a reference peer, in a long run both; their admins peer anew with everybody. */
async function loseData(scene: Scene, random: Random, say: (what: string) => void): Promise<void> {
  const ofKind = (kind: Place['kind']) => [...scene.places.values()].filter((place) => place.kind === kind)
  const isLong = scene.places.size > 5
  const kinds: Place['kind'][] = isLong ? ['ours', 'reference'] : [random.pick(['ours', 'reference'] as const)]
  for (const kind of kinds) {
    const place = random.pick(ofKind(kind))
    say(`${place.name} loses its data`)
    scene.troubledAt.at = Infinity
    await place.loseData()
    await peerAll(scene, peeringLimitMs)
    scene.troubledAt.at = performance.now()
    scene.journal.count('fault: data lost')
    say('they are peers again')
  }
}

/** Waits until everything is where it should be, as long as a sync and its repetition may need. */
async function settle(scene: Scene): Promise<Finding[]> {
  const deadline = performance.now() + settleLimitMs
  for (;;) {
    const findings = judge(await look(scene), scene.journal)
    if (findings.length === 0 || performance.now() > deadline) return findings
    await pause(1_000)
  }
}

function slowDown(scene: Scene): void {
  changePace(scene.clock, paceOfLogins)
  for (const place of scene.places.values()) if (place.kind === 'ours') place.own.keepPace()
}

async function look(scene: Scene): Promise<World> {
  const states = [...scene.places.values()].map(async (place) => {
    const { name, host, origin } = place
    const log = place.kind === 'ours' ? place.own.log() : ''
    return [name, { ...(await place.readState()), host, origin, life: place.life(), log }] as const
  })
  return new Map(await Promise.all(states))
}
