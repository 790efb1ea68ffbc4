import type { Place } from './places.ts'

/** What was acknowledged of an account elsewhere. `maybe`: no answer told. `ordered`: a deletion that
 * goes on by itself. */
export type Replica = {
  at: string
  state: 'present' | 'absent' | 'maybe' | 'ordered'
  id: string
  life: number
  /** What it was last signed in with there; null where no answer told. */
  password: string | null
}

/** A person of the mesh, and all that was acknowledged to them. */
export type Person = {
  name: string
  home: string
  life: number
  id: string
  token: string
  password: string
  formerPasswords: string[]
  displayName: string | null
  /** `unborn`: never registered. `maybe`: no answer told whether the account is gone. */
  state: 'unborn' | 'present' | 'gone' | 'maybe'
  replicas: Map<string, Replica>
  steps: string[]
}

export type Journal = {
  people: Person[]
  /** Tokens, passwords and secrets that no log may hold. */
  secrets: Set<string>
  count(what: string, by?: number): void
  counts(): [what: string, times: number][]
  /** Seen while it went on: an answer that no page allows, a bystander who was delayed. */
  violations: string[]
}

export function createJournal(): Journal {
  const counts = new Map<string, number>()
  return {
    people: [],
    secrets: new Set(),
    count: (what, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by),
    counts: () => [...counts].sort(([a], [b]) => a.localeCompare(b)),
    violations: [],
  }
}

export function newPerson(journal: Journal, name: string, home: Place): Person {
  const person: Person = {
    name,
    home: home.name,
    life: home.life(),
    id: '',
    token: '',
    password: `first password of ${name}`,
    formerPasswords: [],
    displayName: null,
    state: 'unborn',
    replicas: new Map(),
    steps: [],
  }
  journal.people.push(person)
  journal.secrets.add(person.password)
  return person
}
