import type { Journal, Person, Replica } from './journal.ts'
import type { InstanceState, SeenUser } from './places.ts'

/** What was found of one instance at the end. */
export type FinalState = InstanceState & { host: string; origin: string; life: number; log: string }
export type World = Map<string, FinalState>
export type Finding = { what: string; person?: Person }

/** Everything that is not where the journal says, or is there twice, or should be nowhere. */
export function judge(world: World, { people, secrets }: Pick<Journal, 'people' | 'secrets'>): Finding[] {
  return [...judgePlaces(world, secrets), ...people.flatMap((person) => judgePerson(world, person))]
}

function judgePlaces(world: World, secrets: ReadonlySet<string>): Finding[] {
  const findings: Finding[] = []
  const find = (what: string) => void findings.push({ what })
  for (const [name, { users, peers, log, queued }] of world) {
    const identities = users
      .filter(({ deleted, homeUserId }) => !deleted && homeUserId !== null)
      .map(({ homeUserId, homeInstance }) => `${homeUserId} of ${homeInstance}`)
    for (const twice of repeated(identities)) find(`${name} has ${twice} twice`)
    const names = users.filter(({ deleted }) => !deleted).map(({ username }) => username)
    for (const twice of repeated(names)) find(`${name} has two accounts named ${twice}`)
    for (const [other, { origin }] of world) {
      const state = peers.get(origin)
      if (other !== name && state !== 'active') find(`${name} has ${other} as ${state}`)
    }
    if (queued > 0) find(`${name} has ${queued} events that nobody took`)
    for (const secret of secrets) {
      if (secret !== '' && log.includes(secret))
        find(`the log of ${name} holds a secret of ${secret.length} characters`)
    }
  }
  return findings
}

function repeated(all: readonly string[]): string[] {
  return [...new Set(all.filter((one, index) => all.indexOf(one) !== index))]
}

function judgePerson(world: World, person: Person): Finding[] {
  const home = world.get(person.home)
  if (!home || person.state === 'unborn') return []
  const findings: Finding[] = []
  const find = (what: string) => void findings.push({ what: `${person.name} ${what}`, person })
  const isHomeless = person.life !== home.life
  const atHome = home.users.find(({ id }) => id === person.id && !isHomeless)
  const isLive = atHome !== undefined && !atHome.deleted
  if (person.state === 'present' && !isHomeless && !isLive) find(`is lost at home (${person.home})`)
  if (person.state === 'gone' && isLive) find(`is still at home (${person.home})`)
  if (person.displayName !== null && isLive && atHome.displayName !== person.displayName) {
    find(`is "${atHome.displayName}" at home, not "${person.displayName}"`)
  }
  for (const [name, place] of world) {
    if (name === person.home) continue
    const deletion = home.orders.find(({ userId, origin }) => userId === person.id && origin === place.origin)
    const replica = person.replicas.get(name)
    const isOfLife = replica?.life === place.life
    const identity = { person, host: home.host, isHomeless, order: deletion?.state }
    const wrong = judgeReplica(place.users, identity, isOfLife ? replica : undefined)
    if (wrong) find(`${wrong} at ${name}`)
  }
  return findings
}

type Identity = { person: Person; host: string; isHomeless: boolean; order: string | undefined }

function judgeReplica(
  users: SeenUser[],
  { person, host, isHomeless, order }: Identity,
  replica?: Replica,
): string | null {
  const isTheirs = (user: SeenUser) => user.homeInstance === host && user.homeUserId === person.id
  const live = users.filter((user) => !user.deleted && (isTheirs(user) || user.id === replica?.id))
  if (!replica || replica.state === 'absent') return live.length > 0 ? 'is there, and must not be,' : null
  if (replica.state === 'ordered' && !isHomeless) {
    if (order === undefined) return 'was to be deleted by an order that is kept no more,'
    if (order === 'waiting') return 'is to be deleted by an order that waits still,'
    return order === 'done' && live.length > 0 ? 'is there in spite of an order' : null
  }
  if (replica.state === 'ordered') return null
  if (replica.state === 'maybe') return null
  const [account] = live
  if (!account) return 'is lost'
  if (account.id !== replica.id) return 'is another account than the one that was acknowledged'
  const isKnown = person.displayName !== null && person.state === 'present' && !isHomeless
  if (isKnown && account.displayName !== person.displayName) {
    return `is "${account.displayName}", not "${person.displayName}",`
  }
  return null
}
