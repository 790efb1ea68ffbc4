import { expect } from 'chai'
import { describeReceiver } from './receiver-states.ts'

const quiet = { waiting: 0, lastDeliveredAt: null, failingSince: null, lastError: null }

describe('The state of a receiver', () => {
  it('is bad while it fails, also where something was delivered before and nothing waits', () => {
    expect(describeReceiver({ ...quiet, failingSince: 5, lastDeliveredAt: 4 })).to.deep.equal({
      tone: 'bad',
      label: 'failing',
    })
    expect(describeReceiver({ ...quiet, failingSince: 5, waiting: 2 }).tone).to.equal('bad')
  })

  it('tells what waits from what was never sent, and from what works', () => {
    expect(describeReceiver({ ...quiet, waiting: 1, lastDeliveredAt: 4 }).label).to.equal('sending')
    expect(describeReceiver(quiet).label).to.equal('nothing sent yet')
    // What was answered with a refusal for good is no failure anymore.
    expect(describeReceiver({ ...quiet, lastDeliveredAt: 4, lastError: '400 invalid_request' }).label).to.equal(
      'working',
    )
  })
})
