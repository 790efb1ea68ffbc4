import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { selectFiles, titlePattern } from './select-files.ts'

const bus = 'libs/bus/src/bus.test.ts'
const busSystem = 'libs/bus/test/bus.system.test.ts'
const login = 'services/identity/test/log-in.test.tsx'
const journey = 'test/journey.test.ts'

const sources = {
  [bus]: `import './bus.ts'; it('keeps the order', () => {})`,
  'libs/bus/src/bus.ts': '',
  'libs/bus/package.json': `{ "name": "@gatehouse/bus", "exports": "./src/bus.ts" }`,
  'libs/bus/node_modules/other/other.test.ts': '',
  [busSystem]: `import { runFaults } from './faults.ts'`,
  'libs/bus/test/faults.ts': `export const runFaults = () => it('kills the broker', () => {})`,
  [login]: `import '../src/main.ts'; describe('the login', () => it('refuses a suspended account', () => {}))`,
  'services/identity/src/main.ts': `import type { Bus } from '@gatehouse/bus'`,
  [journey]: `readFileSync(join(root, 'docs/journey.md')); start(\`services/\${name}/src/main.ts\`)`,
  'docs/journey.md': '',
  '.mocharc.json': '',
}

describe('the test files of a run', () => {
  let root: string
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'gatehouse-select-files-'))
    await change(sources)
    git('init', '--quiet', '--initial-branch=main')
    commit('first')
  })
  after(() => rm(root, { recursive: true }))

  async function change(files: Record<string, string>): Promise<void> {
    for (const [path, source] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), source)
    }
  }

  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'pipe' })
  function commit(message: string): void {
    git('add', '--all')
    git('-c', 'user.name=test', '-c', 'user.email=test@localhost', 'commit', '--quiet', '--message', message)
  }

  const select = (...args: string[]): string[] => selectFiles(root, args).files

  it('are all of the project but those of whole systems, which have a run of their own', () => {
    expect(select()).to.deep.equal([bus, login, journey])
    expect(select('--system')).to.deep.equal([busSystem])
  })

  it('can be selected by folder and by file, each once', () => {
    expect(select('libs/bus', bus)).to.deep.equal([bus])
    expect(select('./test/')).to.deep.equal([journey])
  })

  it('can be selected by words, which all stand in the path or in a title', () => {
    expect(select('LOG-IN')).to.deep.equal([login])
    expect(select('suspended', 'login')).to.deep.equal([login])
    expect(select('libs', 'order')).to.deep.equal([bus])
    // A test file may register what its neighbor has.
    expect(selectFiles(root, ['--system', 'kills']).files).to.deep.equal([busSystem])
    expect(selectFiles(root, ['identity suspended']).words).to.deep.equal(['identity', 'suspended'])
  })

  it('must be there, and those of the other run are named', () => {
    expect(() => select('libs/nothing')).to.throw('npm test selects no test file: libs/nothing')
    expect(() => select('login', 'order')).to.throw('no test file: login order')
    expect(() => select(busSystem)).to.throw(`npm run test:system has ${busSystem}`)
    expect(() => select('--sytem')).to.throw('unknown option --sytem')
  })

  describe('that a change reaches', () => {
    afterEach(() => {
      git('reset', '--quiet', '--hard')
      git('clean', '--quiet', '--force', '-d')
    })

    const reachedBy = async (path: string, ...args: string[]): Promise<string[]> => {
      await change({ [path]: '// changed' })
      return select('--changed', ...args)
    }

    it('import what changed, by a path or by the name of a package', async () => {
      expect(await reachedBy('libs/bus/src/bus.ts')).to.deep.equal([bus, login, journey])
    })

    it('start it as a program, or read it', async () => {
      expect(await reachedBy('services/identity/src/main.ts')).to.deep.equal([login, journey])
    })

    it('read it', async () => {
      expect(await reachedBy('docs/journey.md')).to.deep.equal([journey])
    })

    it('are of the run that was asked for', async () => {
      expect(await reachedBy('libs/bus/test/faults.ts', '--system')).to.deep.equal([busSystem])
    })

    it('are all when it is what every test runs under', async () => {
      expect(await reachedBy('.mocharc.json')).to.deep.equal([bus, login, journey])
    })

    it('are themselves new', async () => {
      expect(await reachedBy('libs/new/new.test.ts')).to.deep.equal(['libs/new/new.test.ts'])
    })

    it('are none without a change, and those of the branch where another is named', async () => {
      expect(() => select('--changed')).to.throw('reached by what differs from HEAD')
      git('checkout', '--quiet', '-b', 'branch')
      await change({ 'docs/journey.md': '// changed' })
      commit('second')

      expect(select('--changed', 'main')).to.deep.equal([journey])
      expect(await reachedBy('services/identity/src/main.ts', 'main', 'services')).to.deep.equal([login])
    })
  })
})

describe('the tests of a selected file', () => {
  const isRun = (title: string, file: string, words: string[]): boolean => {
    const pattern = titlePattern(file, words)
    return pattern === undefined || new RegExp(pattern, 'i').test(title)
  }

  it('are all whose path and title have all words, in any order', () => {
    expect(isRun('the login refuses a suspended account', login, ['account', 'login', 'identity'])).to.equal(true)
    expect(isRun('the login refuses a suspended account', login, ['account', 'logout'])).to.equal(false)
    expect(isRun('any', login, ['identity'])).to.equal(true)
    expect(isRun('costs 1.5 s', login, ['1.5'])).to.equal(true)
    expect(isRun('costs 105 s', login, ['1.5'])).to.equal(false)
  })
})
