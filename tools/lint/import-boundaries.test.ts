import { readdirSync } from 'node:fs'
import { expect } from 'chai'
import { explainImport, layers } from './import-boundaries.js'

describe('import boundaries', () => {
  const allowed: [string, string][] = [
    ['services/invite/src/service.ts', '@gatehouse/bus'],
    ['services/invite/src/service.ts', './deps.ts'],
    ['services/invite/src/service.ts', 'koa'],
    ['libs/bus/src/outbox/relay.ts', '@gatehouse/domain'],
    ['libs/bus/test/contract.test.ts', '@gatehouse/test-kit'],
    ['libs/service-kit/src/config/settings.ts', '../../../../package.json'],
    ['deploy/embedded/embedded.ts', '@gatehouse/identity'],
  ]
  const forbidden: [string, string][] = [
    ['services/invite/src/service.ts', '@gatehouse/identity'],
    ['services/invite/src/service.ts', '../../identity/src/service.ts'],
    ['services/invite/test/harness.ts', '@gatehouse/gateway'],
    ['libs/auth/src/index.ts', '@gatehouse/identity'],
    ['libs/auth/src/index.ts', '@gatehouse/service-kit'],
    ['libs/contracts/src/index.ts', '@gatehouse/runtime'],
    ['libs/bus/src/index.ts', '../../runtime/src/index.ts'],
    ['libs/bus/src/index.ts', '@gatehouse/test-kit'],
  ]

  it('let a package import lower layers and itself, and its tests every library', () => {
    expect(allowed.filter(([file, source]) => explainImport(file, source) !== undefined)).to.deep.equal([])
  })

  it('keep it from services, from its own and higher layers, and from paths into another package', () => {
    expect(forbidden.filter(([file, source]) => explainImport(file, source) === undefined)).to.deep.equal([])
  })

  it('know the layer of every library', () => {
    expect(layers.flat()).to.have.members(readdirSync('libs'))
  })
})
