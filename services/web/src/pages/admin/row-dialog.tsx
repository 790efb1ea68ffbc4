import type { Client } from '@gatehouse/client'
import { type ComponentType, type ReactNode, useState } from 'react'
import { ConfirmDialog } from '../../components/dialog.tsx'
import type { DialogName } from '../../components/dialog-names.ts'
import { MenuItem } from '../../components/menu.tsx'
import { t, type Text } from '../../language/language.ts'

export type RowDialogProps<Row> = { row: Row; name: string; onClose: () => void; onDone: () => void }

/** The texts of rows call the name so. */
const placesOf = (name: string) => ({ name, username: name, host: name })

type Question<Row> = {
  dialog: DialogName
  title: Text
  text: Text
  submit: Text
  done: Text
  dangerous?: boolean
  act: (client: Client, row: Row) => Promise<unknown>
  more?: (row: Row) => ReactNode
}

/** The dialog that asks before an act on a row. */
export function askBefore<Row>({ dialog, title, text, submit, done, dangerous = false, act, more }: Question<Row>) {
  return function RowQuestion({ row, name, ...props }: RowDialogProps<Row>) {
    return (
      <ConfirmDialog
        dialog={dialog}
        title={t(title, placesOf(name))}
        text={text}
        submit={t(submit)}
        dangerous={dangerous}
        act={(_, client) => act(client, row)}
        done={t(done, placesOf(name))}
        {...props}
      >
        {more?.(row)}
      </ConfirmDialog>
    )
  }
}

type ItemState = { dangerous?: boolean; disabled?: boolean }

/** `item`: an item of the row's menu, which opens a dialog about the row. `dialog`: the open one. */
export function useRowDialog<Props extends { name: string }>(props: Props) {
  type RowDialog = ComponentType<Props & { onClose: () => void }>
  const [Opened, setOpened] = useState<RowDialog | null>(null)
  const item = (text: Text, fullText: Text, dialog: RowDialog, state: ItemState = {}) => {
    const values = placesOf(props.name)
    return (
      <MenuItem
        key={text}
        text={text}
        fullText={fullText}
        values={values}
        {...state}
        onClick={() => setOpened(() => dialog)}
      />
    )
  }
  return { item, dialog: Opened && <Opened {...props} onClose={() => setOpened(null)} /> }
}
