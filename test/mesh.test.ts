import { expect } from 'chai'
import { judge, type World } from './mesh/judge.ts'
import { formatRun } from './mesh/report.ts'
import { runMesh, type MeshRun } from './mesh/run-mesh.ts'

const seed = Number(process.env.MESH_SEED ?? 20_261_123)

/** Contract: 7. */
describe(`a mesh of instances of both kinds under faults (seed ${seed})`, function () {
  this.timeout(280_000)
  let run: MeshRun
  before(async () => {
    const size = { ours: 2, references: 2, peopleAtEach: 2, actsOfEach: 6, faults: 9 }
    run = await runMesh({ seed, size, minutes: 0, log: () => undefined })
    process.stdout.write(`${formatRun(run)}\n`)
  })

  const times = (what: string): number => new Map(run.journal.counts()).get(what) ?? 0

  it('has every identity where it should be, once, and no secret in a log', () => {
    expect(run.findings.map(({ what }) => what)).to.deep.equal([])
  })

  it('was in trouble, and did something, meanwhile', () => {
    for (const fault of ['kill', 'cut', 'rotate', 'move', 'keys', 'silence', 'data lost']) {
      expect(times(`fault: ${fault}`), fault).to.be.greaterThan(0)
    }
    expect(times('bad requests')).to.be.greaterThan(10)
    for (const act of ['connect', 'profile', 'password', 'remove'])
      expect(times(`act: ${act}`), act).to.be.greaterThan(1)
    expect(times('profiles of bystanders that arrived')).to.be.greaterThan(1)
  })

  it('names what is planted: a deletion dropped, an account doubled or lost, a peer parked, a secret in a log', () => {
    const { journal, world } = run
    const planted = (change: (copy: World) => void): string[] => {
      const copy = structuredClone(world)
      change(copy)
      return judge(copy, journal).map(({ what }) => what)
    }
    const person = journal.people.find(({ state, replicas }) => state === 'present' && replicas.size > 0)!
    const isHere = ({ state, at, life }: { state: string; at: string; life: number }) =>
      state === 'present' && world.get(at)!.life === life
    const holder = journal.people.find(
      ({ home, life, replicas }) => world.get(home)!.life === life && [...replicas.values()].some(isHere),
    )!
    const replica = [...holder.replicas.values()].find(isHere)!
    const usersOf = (copy: World) => copy.get(replica.at)!.users
    const [secret] = journal.secrets
    const dropped = { ...holder, replicas: new Map([[replica.at, { ...replica, state: 'ordered' as const }]]) }
    const deleted = { ...holder, replicas: new Map([[replica.at, { ...replica, state: 'absent' as const }]]) }
    const judgeOne = (person: typeof holder) => judge(world, { people: [person], secrets: new Set() })[0]?.what

    expect(planted(() => undefined)).to.deep.equal([])
    expect(judgeOne(deleted)).to.equal(`${holder.name} is there, and must not be, at ${replica.at}`)
    expect(judgeOne(dropped)).to.equal(
      `${holder.name} was to be deleted by an order that is kept no more, at ${replica.at}`,
    )
    expect(
      planted(
        (copy) => void usersOf(copy).push({ ...usersOf(copy).find(({ id }) => id === replica.id)!, id: '1' }),
      ).join(),
    ).to.match(/twice|two accounts/)
    expect(
      planted(
        (copy) =>
          void usersOf(copy).splice(
            usersOf(copy).findIndex(({ id }) => id === replica.id),
            1,
          ),
      ),
    ).to.include(`${holder.name} is lost at ${replica.at}`)
    expect(planted((copy) => void copy.get(replica.at)!.peers.clear()).join()).to.include(`${replica.at} has`)
    expect(planted((copy) => void (copy.get(replica.at)!.log += secret ?? '')).join()).to.include(
      `the log of ${replica.at} holds a secret`,
    )
    expect(person.steps).to.not.equal([])
  })
})
