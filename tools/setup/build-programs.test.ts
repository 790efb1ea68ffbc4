import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { builtPrograms, ensureProgramsBuilt, programArguments } from './build-programs.js'
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
    expect(built.every((file) => file.endsWith('main.js') && existsSync(file))).to.equal(true)
    expect(programArguments('deploy/migrate.ts')).to.deep.equal([join(root, 'deploy/migrate.ts')])
  })
})
