import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { findOnPath } from '@gatehouse/local-servers'
import { stopLimitMs } from '../../libs/service-kit/src/policy.ts'
import { entrypoints, roles } from '../cluster/roles.ts'
import { projectRoot, readText } from './read-manifests.ts'

const units = ['gatehouse.service', 'gatehouse@.service'] as const
const read = (name: string): string => readText(`deploy/systemd/${name}`)

describe('the units of systemd', () => {
  it('start files that are there, for each process', () => {
    const [launcher] = /tools\S+\.js/.exec(read('gatehouse.service'))!
    expect(existsSync(resolve(projectRoot, launcher))).to.equal(true)
    const [, command] = /^ExecStart=\/bin\/sh -c '(.*)'$/m.exec(read('gatehouse@.service'))!
    for (const role of roles) {
      const shown = command!.replaceAll('%i', role).replace('exec ', 'echo ')
      const printed = execFileSync('/bin/sh', ['-c', shown], { encoding: 'utf8' })
      expect(printed.trim().split(' ').at(-1)).to.equal(entrypoints[role].file)
    }
  })

  it('leave time to stop, and pass a signal to the process alone', () => {
    for (const name of units) {
      expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(read(name))![1])).to.be.greaterThan(stopLimitMs / 1000)
      expect(read(name)).to.match(/^KillMode=mixed$/m)
    }
  })

  it('are harder than nothing: no privileges, a system that is read only', () => {
    for (const name of units)
      expect(read(name).split('\n')).to.include.members([
        'NoNewPrivileges=true',
        'CapabilityBoundingSet=',
        'ProtectSystem=strict',
      ])
  })

  const program = findOnPath(['systemd-analyze'])
  if (program) {
    it('hold nothing that systemd-analyze does not know', () => {
      const folder = mkdtempSync(join(tmpdir(), 'gatehouse-units-'))
      const file = join(folder, 'gatehouse@identity.service')
      const verify = (text: string): string => {
        writeFileSync(file, text.replace('/usr/bin/node', process.execPath))
        const { stderr, status } = spawnSync(program, ['verify', file], { encoding: 'utf8' })
        return `${status} ${stderr}`
      }
      try {
        for (const name of units) expect(verify(read(name))).to.equal('0 ')
        expect(verify(read('gatehouse.service').replace('KillMode=mixed', 'KillMode=none of these'))).to.match(
          /kill mode/i,
        )
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
})
