import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { addons, builtPrograms, ensureProgramsBuilt, programArguments } from './build-programs.js'
import { root } from './project.js'

describe('the programs of the project', () => {
  let before: string | undefined
  beforeEach(() => {
    before = process.env.GATEHOUSE_PROGRAMS
    delete process.env.GATEHOUSE_PROGRAMS
  })
  afterEach(() => {
    if (before === undefined) delete process.env.GATEHOUSE_PROGRAMS
    else process.env.GATEHOUSE_PROGRAMS = before
  })

  it('run as they are written, unless they have been built for this run', async () => {
    const fileOf = (program: string): string => programArguments(program).at(-1)!
    expect(builtPrograms.map(fileOf)).to.deep.equal(builtPrograms.map((file) => join(root, file)))

    await ensureProgramsBuilt()

    const built = builtPrograms.map(fileOf)
    expect(built.every((file) => file.endsWith('.mjs') && existsSync(file))).to.equal(true)
    expect(programArguments('bench/main.ts')).to.deep.equal([join(root, 'bench/main.ts')])
  })

  it('have source maps where they are of this project, and none of packages', async () => {
    await ensureProgramsBuilt()
    const chunks = join(process.env.GATEHOUSE_PROGRAMS!, 'chunks')
    const files = readdirSync(chunks).filter((file) => file.endsWith('.mjs'))
    const hasMap = (file: string) => existsSync(join(chunks, `${file}.map`))
    const namesMap = (file: string) => readFileSync(join(chunks, file), 'utf8').includes('\n//# sourceMappingURL=')
    const sourcesOf = (file: string): string[] =>
      (JSON.parse(readFileSync(join(chunks, `${file}.map`), 'utf8')) as { sources: string[] }).sources
    const sources = files.filter(hasMap).flatMap(sourcesOf)

    expect(files.filter(namesMap)).to.deep.equal(files.filter(hasMap))
    expect(sources.filter((source) => source.includes('node_modules'))).to.deep.equal([])
    for (const part of ['gateway/src/', 'services/identity/src/', 'libs/domain/src/'])
      expect(
        sources.some((source) => source.includes(part)),
        part,
      ).to.equal(true)
  })

  it('hold every package but addons, so that an image needs no other, and name no folder of this machine', async () => {
    await ensureProgramsBuilt()
    const chunks = join(process.env.GATEHOUSE_PROGRAMS!, 'chunks')
    const texts = readdirSync(chunks)
      .filter((file) => file.endsWith('.mjs'))
      .map((file) => readFileSync(join(chunks, file), 'utf8'))
    const imported = texts.flatMap((text) =>
      [...text.matchAll(/(?:^import\b[^"'\n]*|__require\(|\bimport\()["']([^."'\n][^"'\n]*)["']/gm)].map(
        ([, name]) => name!,
      ),
    )
    // Packages take these where they are installed.
    const optional = ['@valkey/valkey-glide', 'bufferutil', 'dataloader', 'pg-native', 'picomatch', 'utf-8-validate']

    expect(new Set(imported.filter((name) => !isBuiltin(name) && !optional.includes(name)))).to.deep.equal(
      new Set(addons),
    )
    expect(texts.filter((text) => text.includes(root))).to.deep.equal([])
  })

  it('do not load the HTTP client of Node, which none of them uses', async () => {
    await ensureProgramsBuilt()
    const tellModules = `process.on('exit', () => console.log(process.moduleLoadList.join()))`

    for (const program of ['gateway/src/main.ts', 'services/identity/src/main.ts']) {
      const args = ['--import', `data:text/javascript,${encodeURIComponent(tellModules)}`, ...programArguments(program)]
      const { stdout, status } = spawnSync(process.execPath, args, { env: {}, encoding: 'utf8' })

      expect(status, 'it has no configuration').to.equal(1)
      expect(stdout).to.include('NativeModule http').and.not.to.include('undici')
    }
  })
})
