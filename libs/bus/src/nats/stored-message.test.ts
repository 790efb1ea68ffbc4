import { expect } from 'chai'
import type { Msg } from 'nats'
import { storedMessage } from './stored-message.ts'

describe('a message that JetStream delivered', () => {
  const said: string[] = []
  const from = (reply: string) =>
    storedMessage({ reply, respond: (text: string) => said.push(text) > 0 } as unknown as Msg)

  it('tells its place and deliveries, in the address form of older and of newer servers', () => {
    const expected = { deliveries: 3, sequence: 41, deliverySequence: 7 }

    expect(from('$JS.ACK.stream.consumer.3.41.7.1700000000000000000.0')).to.include(expected)
    expect(from('$JS.ACK._.hash.stream.consumer.3.41.7.1700000000000000000.0.token')).to.include(expected)
  })

  it('asks for itself again after a delay in nanoseconds', () => {
    from('$JS.ACK.stream.consumer.1.1.1.1.0').retry(250)

    expect(said).to.deep.equal(['-NAK {"delay":250000000}'])
  })
})
