import { expect } from 'chai'
import { readAudit } from './audit.ts'
import { findUnaccepted, readLock, readLockedPackages, writeLicenses } from './licenses.ts'

const lockOf = (packages: object): string => JSON.stringify({ packages })

describe('the list of licenses', () => {
  it('has each package once, apart by whether an instance runs it, without those of the project', () => {
    const packages = readLock(
      lockOf({
        '': { version: '1.0.0' },
        'libs/a': { version: '1.0.0' },
        'node_modules/@gatehouse/a': { link: true },
        'node_modules/b': { version: '2.0.0', license: 'MIT' },
        'node_modules/c/node_modules/b': { version: '2.0.0', license: 'MIT', dev: true },
        'node_modules/c': { version: '3.0.0', license: 'ISC', dev: true },
      }),
    )

    expect(packages).to.deep.equal([
      { name: 'b', version: '2.0.0', license: 'MIT', isDelivered: true },
      { name: 'c', version: '3.0.0', license: 'ISC', isDelivered: false },
    ])
    expect(writeLicenses(packages)).to.match(
      /Part of an instance \(1\)\n\nb 2\.0\.0: MIT\n\nFor development only \(1\)\n\nc 3\.0\.0: ISC\n$/,
    )
  })

  it('refuses a license that nobody has accepted, and one that is not stated', () => {
    const licenses = {
      a: 'AGPL-3.0',
      b: '(MIT OR AGPL-3.0)',
      c: 'MIT AND AGPL-3.0',
      d: undefined,
      e: 'Apache-2.0 AND MIT',
    }
    const packages = Object.entries(licenses).map(([name, license]) => [
      `node_modules/${name}`,
      { version: '1', license },
    ])

    expect(findUnaccepted(readLock(lockOf(Object.fromEntries(packages))))).to.deep.equal([
      'a 1 has the license AGPL-3.0',
      'c 1 has the license MIT AND AGPL-3.0',
      'd 1 has the license unknown',
    ])
  })

  it('accepts the licenses of all packages that the project pins', () => {
    const packages = readLockedPackages()

    expect(packages.length).to.be.greaterThan(100)
    expect(findUnaccepted(packages)).to.deep.equal([])
  })
})

describe('npm run audit', () => {
  const report = (severity: string) =>
    JSON.stringify({
      vulnerabilities: { a: { severity, range: '<2', fixAvailable: true } },
      metadata: { vulnerabilities: { [severity]: 1 } },
    })

  it('fails from severity high', () => {
    expect(readAudit(report('moderate')).outcome).to.equal('clean')
    expect(readAudit(report('high'))).to.deep.equal({
      outcome: 'advisories',
      lines: ['high: a <2 (a fixed version exists)'],
    })
    expect(readAudit(report('critical')).outcome).to.equal('advisories')
  })

  it('does not take a registry that does not answer for a pass', () => {
    const refused = JSON.stringify({ message: '405 Method Not Allowed', statusCode: 405, error: { summary: '' } })

    expect(readAudit(refused).outcome).to.equal('unanswered')
    expect(readAudit(refused).lines[0]).to.contain('405 Method Not Allowed').and.to.contain('was not checked')
    expect(readAudit('').outcome).to.equal('unanswered')
    expect(readAudit('{}').outcome).to.equal('unanswered')
  })
})
