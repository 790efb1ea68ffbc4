import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { WebSocketServer } from 'ws'
import { createDataFolder, documentedCommand, removeFolder } from '@gatehouse/test-kit'
import { readCommand } from '../deploy/test/program.ts'
import { readArguments } from './arguments.ts'
import { compare } from './compare/compare.ts'
import { readCompareOptions } from './compare/options.ts'
import { addRun, formatCosts, formatSummary, replacePart } from './pages.ts'
import { planPeople } from './people.ts'
import { drawPicture } from './picture.ts'
import { absoluteLine, ratioLine } from './report.ts'
import { measureInRounds } from './rounds.ts'

const sizes = { reads: { lanes: 2, ms: 10 }, sockets: { lanes: 2, ms: 10 }, logins: { lanes: 2, ms: 5_000, most: 6 } }

describe('npm run bench', () => {
  it('measures in turn, in alternating order, and does not count the round that warms up', async () => {
    const order: string[] = []
    const contender = (name: string) => async (round: number) => {
      order.push(name)
      return round
    }

    const rounds = await measureInRounds(2, { ours: contender('ours'), peer: contender('peer') })

    expect(order).to.eql(['ours', 'peer', 'peer', 'ours', 'ours', 'peer'])
    expect(rounds).to.eql({ ours: [1, 2], peer: [1, 2] })
  })

  it('judges the ratio of the medians, and shows the ratios of the rounds', () => {
    const rates = { what: '', ours: [7, 10, 4], peer: { name: 'bare', values: [10, 10, 10] }, format: String }

    const line = ratioLine({ ...rates, bound: { atLeast: 0.7 } })

    expect(line).to.include({ measured: '7', peer: 'bare 10', ratio: 0.7, spread: '0.40 to 1.00', within: true })
    expect(ratioLine({ ...rates, bound: { atLeast: 0.71 } }).within).to.be.false
    const whole = { ours: 6, peer: 8 }
    expect(ratioLine({ ...rates, whole, bound: null })).to.include({
      ...line,
      measured: '6',
      peer: 'bare 8',
      ratio: 0.75,
      limit: 'for information',
    })
    expect(ratioLine({ ...rates, bound: { atMost: 0.69 } })).to.include({ limit: '≤ 0.69', within: false })
  })

  it('judges worst cases by their largest value', () => {
    const waits = { what: '', values: [10, 101, 20], peer: '', format: String, bound: { atMost: 100 } }

    expect(absoluteLine(waits)).to.include({ measured: '20', within: true })
    expect(absoluteLine({ ...waits, judge: (values) => Math.max(...values) })).to.include({ within: false })
  })

  it('takes names and a number of rounds', () => {
    const chosen = readArguments(['start', '--rounds', '2'], ['login', 'start'])

    expect([chosen.names, chosen.run.rounds(7)]).to.eql([['start'], 2])
    expect(readArguments([], ['login', 'start'])).to.deep.include({
      names: ['login', 'start'],
      isMarkdown: false,
      isWriting: false,
    })
    expect(() => readArguments(['stort'], ['start'])).to.throw('no benchmark called stort; there are start')
    expect(() => readArguments(['--rounds', '0'], [])).to.throw('from 1 to 100')
  })

  it('takes the commands of the pages', async () => {
    const names = ['whole-path', 'gateway', 'sockets']
    const read = (command: string) => readArguments(readCommand(command).args, names)
    const compared = readCommand(
      documentedCommand('npm run bench -- compare http://localhost:8080 http://localhost:9090'),
    )

    expect(read(documentedCommand('npm run bench'))).to.deep.include({ names, isMarkdown: false, isWriting: false })
    expect(read(documentedCommand('npm run bench -- whole-path gateway')).names).to.eql(['whole-path', 'gateway'])
    expect(read(documentedCommand('npm run bench -- sockets --rounds 1')).run.rounds(7)).to.equal(1)
    expect(read(documentedCommand('npm run bench -- --markdown')).isMarkdown).to.equal(true)
    expect(read(documentedCommand('npm run bench -- --write')).isWriting).to.equal(true)
    expect([compared.file, compared.args[0]]).to.eql(['bench/main.ts', 'compare'])
    const { origins } = readCompareOptions(compared.args.slice(1), {})
    expect(origins).to.eql(['http://localhost:8080', 'http://localhost:9090'])
  })

  it('writes between the markers of a page, and nowhere else', () => {
    const page = 'before\n<!-- bench: costs -->old<!-- /bench: costs -->\nafter'

    const written = replacePart(page, 'costs', 'new')

    expect(written).to.equal('before\n<!-- bench: costs -->\n\nnew\n\n<!-- /bench: costs -->\nafter')
    expect(replacePart(written, 'costs', 'new')).to.equal(written)
    expect(() => replacePart(page, 'people', 'new')).to.throw('no part between')
  })

  it('adds a run to the results of its day, with the kinds of lines that it has', async () => {
    const folder = await createDataFolder()
    const path = join(folder, '2026-01-02.md')
    const read = absoluteLine({ what: 'reads', values: [7], peer: '', format: String, bound: { atMost: 9 } })
    const cost = { ...read, what: 'GET @me', cpu: { gateway: 40 } }

    await addRun(path, { lines: [read], machine: '2 cores', day: '2026-01-02' })
    await addRun(path, { lines: [cost], machine: '4 cores', day: '2026-01-02' })

    const text = await readFile(path, 'utf8')
    await removeFolder(folder)
    expect(text.match(/^#.*$/gm)).to.eql([
      '# Benchmark results of 2026-01-02',
      '## On 2 cores',
      '## On 4 cores',
      '### CPU costs of an operation',
      '### Operations per second and core',
    ])
    expect(text)
      .to.match(/^\| reads +\| 7 /m)
      .and.match(/^\| GET @me +\| 40 /m)
      .and.match(/^\| GET @me +\| 25,000 /m)
  })

  it('shows newcomers the lines with a headline, and draws those with a ratio', () => {
    const compared = ratioLine({
      headline: 'Reads & more',
      what: 'reads',
      ours: [20],
      peer: { name: 'theirs, tuned', values: [10] },
      format: (value: number) => `${value}/s`,
      bound: null,
    })
    const plain = absoluteLine({ what: 'x', values: [1], peer: '', format: String, bound: { atMost: 1 } })

    const [summary, picture] = [formatSummary([compared, plain]), drawPicture([compared, plain])]

    expect(summary.split('\n')).to.have.length(3)
    expect(summary).to.include('| Reads & more | 20/s | theirs, tuned 10/s | 2.00 × |')
    expect(picture.match(/<text[^>]*font-weight/g)).to.have.length(1)
    expect(picture).to.include('Reads &amp; more').and.include('>theirs 10/s<')
    expect(picture)
      .to.match(/width="320" height="14" fill="#3b5bdb"/)
      .and.match(/width="160" height="14" fill="#adb5bd"/)
  })

  it('computes cores for many people from the costs of the last fleet', () => {
    const line = (what: string, micros: number) => {
      const rest = { measured: '', peer: '', ratio: null, limit: '', within: true }
      return { what, ...rest, cpu: { gateway: micros } }
    }
    const names = ['GET @me', 'login', 'a socket comes', 'a presence change', 'a message, delivered to 500 sockets']
    const costs = [...names.map((name) => line(name, 9e9)), ...names.map((name) => line(name, 1_000))]

    const plan = planPeople(costs)

    // 60 + 0.05 + 0.5 + 0.5 + 600 / 500 ms an hour; twice that in cores.
    expect(plan).to.match(/\| gateway \| 62.3 \| 3.46 \| 345.83 \|/)
    expect(formatCosts(costs.slice(-1))).to.include('| 1000 |')
    expect(() => planPeople(costs.slice(0, 4))).to.throw('nothing was measured')
  })
})

describe('npm run bench -- compare', () => {
  it('puts the same load on each instance and deletes the account that it registered there', async () => {
    await using first = await startFake({ loginsAllowed: 4 })
    await using second = await startFake({ loginsAllowed: 100 })

    const { code, lines } = await runCompare([first.origin, second.origin, '--rounds', '1'])

    expect(code).to.equal(0)
    const table = lines.find((line) => line.includes('GET @me, requests a second'))
    expect(table)
      .to.match(/sockets to ready, a second +\d.*\n/)
      .and.match(/logins, a second +\d/)
    expect(table).to.match(/refused or broken off +\d × limited, again in 90 s +none/)
    for (const { accounts, registered } of [first, second]) {
      expect(registered()).to.equal(1)
      expect(accounts()).to.be.empty
    }
  })

  it('says in one line why an instance cannot be measured, and deletes what it registered at another', async () => {
    await using open = await startFake({ loginsAllowed: 0 })
    await using closed = await startFake({ registrationOpen: false })

    const refused = await runCompare([open.origin, closed.origin])
    const unreachable = await runCompare(['http://127.0.0.1:1'])

    expect(refused.code).to.equal(1)
    expect(refused.lines.at(-1)).to.match(/registration is closed; name an account with --username/)
    expect(open.registered()).to.equal(1)
    expect(open.accounts()).to.be.empty
    expect(unreachable).to.deep.equal({ code: 1, lines: ['http://127.0.0.1:1 cannot be reached: ECONNREFUSED'] })
  })

  it('puts load on another host only when that is asked for', () => {
    expect(() => readCompareOptions(['https://chat.example'], {})).to.throw('add --remote')
    expect(readCompareOptions(['https://chat.example/', '--remote'], {}).origins).to.eql(['https://chat.example'])
    expect(readCompareOptions(['http://[::1]:80', 'http://127.9.9.9:1'], {}).origins).to.have.length(2)
    expect(() => readCompareOptions(['http://127.0.0.1.example'], {})).to.throw('add --remote')
  })

  it('takes the password of a given account from the environment', () => {
    const args = ['http://localhost:1', '--username', 'ada']

    expect(readCompareOptions(args, { BENCH_PASSWORD: 'secret' }).account).to.eql({
      username: 'ada',
      password: 'secret',
    })
    expect(() => readCompareOptions(args, {})).to.throw('BENCH_PASSWORD')
    expect(() => readCompareOptions(['http://localhost:1', '--rounds', '6'], {})).to.throw('from 1 to 5')
  })
})

async function runCompare(args: string[]): Promise<{ code: number; lines: string[] }> {
  const lines: string[] = []
  const code = await compare(args, { environment: {}, print: (line) => lines.push(line), sizes })
  return { code, lines }
}

/** As much of an instance as the comparison asks for. */
async function startFake({ loginsAllowed = 0, registrationOpen = true }) {
  const accounts = new Set<string>()
  let registered = 0
  let logins = 0
  const routes: Record<string, (username: string) => [number, object]> = {
    'GET /api/instance/info': () => [200, { name: 'Fake', version: '1', registrationOpen }],
    'POST /api/auth/register': (username) => {
      registered += 1
      accounts.add(username)
      return [201, { token: 'token' }]
    },
    'POST /api/auth/login': () => [(logins += 1) > loginsAllowed ? 429 : 200, { token: 'token' }],
    'GET /api/users/@me': () => [200, {}],
    'DELETE /api/users/@me': (username) => [accounts.delete(username) ? 200 : 404, {}],
  }
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { username = '' } = JSON.parse(body || '{}') as { username?: string }
      const [status, answer] = routes[`${request.method} ${request.url}`]!(username)
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '90' })
      response.end(JSON.stringify(answer))
    })
  })
  const sockets = new WebSocketServer({ server, path: '/ws' })
  sockets.on('connection', (socket) => socket.once('message', () => socket.send('{"type":"ready"}')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accounts: () => [...accounts],
    registered: () => registered,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
