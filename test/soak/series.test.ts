import { endpointTable, type EndpointName } from '@gatehouse/contracts'
import { expect } from 'chai'
import { createLedger } from './ledger.ts'
import { networkOf, networks, paceOf } from './pace.ts'
import { judgeSeries, type Sample } from './series.ts'

/** Six hours, with four accounts a minute. */
const samplesOf = (values: (hours: number, accounts: number) => Sample['values']): Sample[] =>
  Array.from({ length: 360 }, (_, index) => {
    const [hours, accounts] = [(index + 1) / 60, 4 * (index + 1)]
    return { hours, accounts, values: values(hours, accounts) }
  })
const verdictsOf = (samples: readonly Sample[], warmUpHours = 1) =>
  Object.fromEntries(judgeSeries(samples, warmUpHours).map(({ name, verdict }) => [name, verdict]))

describe('What a soak judges', () => {
  it('after the warm-up, against a bound of the kind: by hours, or by accounts where rows stay by design', () => {
    const samples = samplesOf((hours, accounts) => ({
      'memory MiB: grows': 100 + 10 * hours,
      'memory MiB: warms up': 100 + Math.min(hours, 1) * 50,
      'rows: users': 30 + accounts,
      'rows: audit_log': 3 * accounts,
      'rows: presences': 30 + (accounts % 3),
      'rows: emails': 30 + accounts / 20,
    }))

    expect(verdictsOf(samples)).to.deep.equal({
      'memory MiB: grows': 'rises',
      'memory MiB: warms up': 'flat',
      'rows: users': 'flat',
      'rows: audit_log': 'rises',
      'rows: presences': 'flat',
      'rows: emails': 'rises',
    })
  })

  it('not what is removed once in hours, before there were several removals', () => {
    const sawtooth = samplesOf((hours) => ({ 'rows: mails': 300 + 100 * (hours % 1) }))

    expect(verdictsOf(sawtooth)).to.not.deep.include({ 'rows: mails': 'rises' })
    expect(verdictsOf(sawtooth.slice(0, 50), 0.1)).to.deep.equal({ 'rows: mails': 'too short' })
  })

  it('as lost what was acknowledged and never told, in whatever order both came', () => {
    const ledger = createLedger()
    ledger.arrive('UserCreated', '1')
    ledger.await('UserCreated', '1')
    ledger.await('UserCreated', '2')
    ledger.await('UserDeleted', '1')
    ledger.arrive('UserCreated', '2')

    expect(ledger.expectations().join()).to.match(/^UserDeleted 1,/)
    ledger.arrive('UserDeleted', '1')
    expect(ledger.expectations()).to.deep.equal([])
  })
})

/** Contract: 1, rate limits. What one person does at most at each endpoint that counts by client network. */
const inALife: Partial<Record<EndpointName, number>> = {
  register: 2,
  login: 2,
  changePassword: 1,
  endSessions: 1,
  deleteSelf: 1,
  deleteFederationIdentity: 1,
  setEmail: 1,
  confirmEmail: 1,
  startProvider: 4,
  providerCallback: 4,
  finishProvider: 2,
}

describe('The load of a soak', () => {
  for (const hours of [0.01, 0.1, 0.5, 6, 48]) {
    it(`of ${hours} h keeps each client network at a tenth of every limit, and gives each person another one`, () => {
      const { arrivalMs, lifeMs } = paceOf(hours)
      const livesAnHour = 3_600_000 / arrivalMs / networks

      for (const [name, calls] of Object.entries(inALife)) {
        const { requests, windowSeconds } = (endpointTable[name as EndpointName] as { limit: Limit }).limit
        expect(calls * livesAnHour, name).to.be.at.most((requests * 3_600) / windowSeconds / 10)
      }
      const together = Math.ceil(lifeMs / arrivalMs) + 1
      expect(new Set(Array.from({ length: together }, (_, index) => networkOf(index))).size).to.equal(together)
    })
  }
})
type Limit = { requests: number; windowSeconds: number }
