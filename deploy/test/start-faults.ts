import { expect } from 'chai'
import { Unavailable } from '@gatehouse/runtime'
import { ConfigurationError } from '@gatehouse/service-kit'

/** The lines with which a process would report this start, which has to fail. Throws what it would report with a stack. */
export async function faultsOf(start: () => unknown): Promise<string[]> {
  try {
    await using _started = (await start()) as AsyncDisposable
  } catch (error) {
    if (!(error instanceof ConfigurationError || error instanceof Unavailable)) throw error
    return error.message.split('\n')
  }
  throw new Error('it has started')
}

/** The line of a start with one fault. */
export async function faultOf(start: () => unknown): Promise<string> {
  const faults = await faultsOf(start)
  expect(faults).to.have.length(1)
  return faults[0]!
}
