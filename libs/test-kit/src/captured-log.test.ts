import { expect } from 'chai'
import { capturedLog } from './captured-log.ts'

describe('a captured log', () => {
  it('keeps every line as an object, those of child loggers too', () => {
    const { log, lines } = capturedLog()

    log.trace({ attempt: 1 }, 'first')
    log.child({ request: 'r1' }).warn('second')

    expect(lines).to.have.length(2)
    expect(lines[0]).to.include({ attempt: 1, msg: 'first' })
    expect(lines[1]).to.include({ request: 'r1', msg: 'second' })
  })
})
