import { useState } from 'react'
import { chooseTheme, currentTheme } from '../theme.ts'
import { IconButton } from './button.tsx'

export function ThemeToggle() {
  const [theme, setTheme] = useState(currentTheme)
  const other = theme === 'dark' ? 'light' : 'dark'
  return (
    <IconButton
      icon={theme === 'dark' ? 'sun' : 'moon'}
      label={`Switch to ${other} theme`}
      onClick={() => {
        chooseTheme(other)
        setTheme(other)
      }}
    />
  )
}
