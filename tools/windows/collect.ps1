<#
.SYNOPSIS
Stores what Windows's own performance counter functions return: collect.py for computers without Python.

.DESCRIPTION
Windows PowerShell 5.1 or PowerShell 7 on Windows, and nothing else. Reads counters, changes nothing, sends nothing. OUT becomes a folder
with manifest.json and one file for each buffer, of the same format 1 that collect.py writes and `pcq-analyzer calibrate OUT` reads. The
name of the computer and of the user, and every word of -Redact, are overwritten by as many x, unless -KeepNames is given.

.EXAMPLE
powershell -ExecutionPolicy Bypass -File collect.ps1 OUT -Machine \\SERVER -Redact secret
#>
param(
    [Parameter(Mandatory = $true)][string] $Out,
    [string] $Machine,
    [int] $Sets = 12,
    [string[]] $Redact = @(),
    [switch] $KeepNames
)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

Add-Type -TypeDefinition @'
using System;
using System.Runtime.InteropServices;

public static class PcqCalls
{
    const string Api = "advapi32.dll", Pdh = "pdh.dll";

    [DllImport(Api, CharSet = CharSet.Unicode)]
    public static extern uint PerfEnumerateCounterSet(string machine, byte[] guids, uint room, out uint needed);
    [DllImport(Api, CharSet = CharSet.Unicode)]
    public static extern uint PerfEnumerateCounterSetInstances(string machine, byte[] guid, byte[] buffer, uint size, out uint needed);
    [DllImport(Api, CharSet = CharSet.Unicode)]
    public static extern uint PerfQueryCounterSetRegistrationInfo(
        string machine, byte[] guid, uint code, uint language, byte[] buffer, uint size, out uint needed);
    [DllImport(Api, CharSet = CharSet.Unicode)]
    public static extern uint PerfOpenQueryHandle(string machine, out IntPtr handle);
    [DllImport(Api)]
    public static extern uint PerfCloseQueryHandle(IntPtr handle);
    [DllImport(Api)]
    public static extern uint PerfAddCounters(IntPtr handle, byte[] identifiers, uint size);
    [DllImport(Api)]
    public static extern uint PerfQueryCounterInfo(IntPtr handle, byte[] buffer, uint size, out uint needed);
    [DllImport(Api)]
    public static extern uint PerfQueryCounterData(IntPtr handle, byte[] buffer, uint size, out uint needed);
    [DllImport(Api, CharSet = CharSet.Unicode)]
    public static extern uint RegConnectRegistryW(string machine, IntPtr key, out IntPtr remote);
    [DllImport(Api, CharSet = CharSet.Unicode)]
    public static extern uint RegQueryValueExW(IntPtr key, string value, IntPtr reserved, out uint kind, byte[] data, ref uint size);
    [DllImport(Api)]
    public static extern uint RegCloseKey(IntPtr key);

    [DllImport(Pdh, CharSet = CharSet.Unicode)]
    public static extern uint PdhOpenQueryW(string source, IntPtr user, out IntPtr query);
    [DllImport(Pdh, CharSet = CharSet.Unicode)]
    public static extern uint PdhAddEnglishCounterW(IntPtr query, string path, IntPtr user, out IntPtr counter);
    [DllImport(Pdh)]
    public static extern uint PdhCollectQueryData(IntPtr query);
    [DllImport(Pdh)]
    public static extern uint PdhGetFormattedCounterValue(IntPtr counter, uint format, out uint kind, out PcqValue value);
    [DllImport(Pdh)]
    public static extern uint PdhCloseQuery(IntPtr query);
}

// PDH_FMT_COUNTERVALUE with a double.
[StructLayout(LayoutKind.Explicit, Size = 16)]
public struct PcqValue
{
    [FieldOffset(0)] public uint Status;
    [FieldOffset(8)] public double Value;
}
'@

$success = 0
$notEnoughMemory = 8
$moreData = 234
$any = [uint32]::MaxValue
$english = 0x409
# PDH_FMT_DOUBLE and PDH_FMT_NOCAP100.
$formatted = [uint32] 0x8200
# A handle of 32 bits, which Windows extends with its sign (winreg.h).
$performanceData = [IntPtr] (-2147483644)
# RequestCode and the layout of its answer ([MS-PCQ] section 3.1.4.1.2).
$codes = @(
    @(1, 'counterset-info'), @(3, 'string'), @(4, 'string'), @(5, 'string-table'), @(6, 'string-table'),
    @(7, 'string'), @(8, 'guid'), @(9, 'string'), @(10, 'string-table')
)
$target = if ($Machine) { $Machine } else { [NullString]::Value }
$words = @($Redact | Where-Object { $_ })
if (-not $KeepNames) {
    $words += @($env:COMPUTERNAME, $env:USERNAME, $Machine.Trim('\')) | Where-Object { $_ }
}
$words = @($words | Sort-Object -Property Length -Descending)
$buffers = New-Object System.Collections.ArrayList
$displayed = New-Object System.Collections.ArrayList
$failures = New-Object System.Collections.ArrayList
$folder = (New-Item -ItemType Directory -Path $Out).FullName

function Hide-Text([string] $text) {
    foreach ($word in $words) {
        $text = [regex]::Replace($text, [regex]::Escape($word), { param($found) 'x' * $found.Length }, 'IgnoreCase')
    }
    return $text
}

function Hide-Bytes([byte[]] $data) {
    # The same in UTF-16 at even and odd places; lengths stay.
    foreach ($shift in 0, 1) {
        if ($data.Length -le $shift) { continue }
        $whole = $data.Length - $shift - (($data.Length - $shift) % 2)
        # One character for each two bytes, whatever they are: an encoding would replace what is no text.
        $letters = New-Object char[] ($whole / 2)
        for ($at = 0; $at -lt $letters.Length; $at++) {
            $letters[$at] = [char] [BitConverter]::ToUInt16($data, $shift + 2 * $at)
        }
        $text = New-Object string (, $letters)
        $shown = Hide-Text $text
        for ($at = 0; $at -lt $letters.Length; $at++) {
            if ($shown[$at] -cne $text[$at]) {
                [BitConverter]::GetBytes([uint16] $shown[$at]).CopyTo($data, $shift + 2 * $at)
            }
        }
    }
    return , $data
}

function Save-Buffer([string] $call, [string] $kind, [uint32] $status, [byte[]] $data, [hashtable] $arguments) {
    $name = $null
    if ($data -and $data.Length) {
        $name = '{0:0000}.bin' -f ($buffers.Count + 1)
        [IO.File]::WriteAllBytes((Join-Path $folder $name), (Hide-Bytes $data))
    }
    $shown = @{}
    foreach ($key in $arguments.Keys) {
        $shown[$key] = if ($arguments[$key] -is [string]) { Hide-Text $arguments[$key] } else { $arguments[$key] }
    }
    $now = ([DateTime]::UtcNow - [DateTime] '1970-01-01').TotalSeconds
    [void] $buffers.Add([ordered] @{ call = $call; kind = $kind; status = $status; file = $name; time = $now; arguments = $shown })
    return $name
}

function Invoke-Sized([string] $call, [string] $kind, [hashtable] $arguments, [int] $element, [scriptblock] $function) {
    # Calls a function that fills a buffer, with as much room as it asks for.
    $room = [uint32] 0
    $needed = [uint32] 0
    $data = New-Object byte[] 0
    for ($try = 0; $try -lt 8; $try++) {
        $data = New-Object byte[] ($room * $element)
        $needed = [uint32] 0
        $given = if ($room) { $data } else { $null }
        try {
            $status = & $function $given $room ([ref] $needed)
        } catch [System.EntryPointNotFoundException] {
            [void] $failures.Add([ordered] @{ call = $call; why = 'this system does not have the function' })
            return @{ Data = (New-Object byte[] 0); File = $null }
        }
        if ($status -ne $notEnoughMemory -or $needed -le $room) { break }
        $room = $needed
    }
    $length = [Math]::Min($needed, $room) * $element
    $found = New-Object byte[] 0
    if ($status -eq $success -and $length) { $found = [byte[]] $data[0..($length - 1)] }
    if ($call -eq 'PerfEnumerateCounterSet') { $arguments = @{ room = $room; needed = $needed } }
    # A copy: names are overwritten in what is stored, and what is read here stays as it was.
    $file = Save-Buffer $call $kind $status ([byte[]] $found.Clone()) $arguments
    return @{ Data = $found; File = $file }
}

function Get-Text([byte[]] $data) {
    return ([Text.Encoding]::Unicode.GetString($data) -split "`0")[0]
}

function Get-Names([byte[]] $table) {
    # Strings by counter id of an answer to RequestCode 10, offsets from the start of the block (perflib.h).
    $found = [ordered] @{}
    if ($table.Length -lt 8) { return $found }
    $count = [BitConverter]::ToUInt32($table, 4)
    for ($at = 8; $at -lt 8 + 8 * $count -and $at + 8 -le $table.Length; $at += 8) {
        $offset = [BitConverter]::ToUInt32($table, $at + 4)
        if ($offset -ne $any -and $offset -lt $table.Length) {
            $found["$([BitConverter]::ToUInt32($table, $at))"] = Get-Text ([byte[]] $table[$offset..($table.Length - 1)])
        }
    }
    return $found
}

function Get-Described([byte[]] $guid, [string] $name) {
    # All that is registered of a counterset.
    $found = @{}
    foreach ($pair in $codes) {
        $code = [uint32] $pair[0]
        $language = [uint32] $(if ($code -in 1, 7, 8, 9, 10) { 0 } else { $english })
        $arguments = @{ counterset = $name; code = $code; language = $language }
        $answer = Invoke-Sized 'PerfQueryCounterSetRegistrationInfo' $pair[1] $arguments 1 {
            param($buffer, $size, $needed)
            [PcqCalls]::PerfQueryCounterSetRegistrationInfo($target, $guid, $code, $language, $buffer, $size, $needed)
        }
        $found[[int] $code] = $answer.Data
    }
    [void] (Invoke-Sized 'PerfEnumerateCounterSetInstances' 'instances' @{ counterset = $name } 1 {
        param($buffer, $size, $needed)
        [PcqCalls]::PerfEnumerateCounterSetInstances($target, $guid, $buffer, $size, $needed)
    })
    return $found
}

function Invoke-Query([array] $chosen, [array] $paths) {
    # Two data answers of all counters of these countersets, and what PDH displays between them.
    $handle = [IntPtr]::Zero
    $status = [PcqCalls]::PerfOpenQueryHandle($target, [ref] $handle)
    [void] (Save-Buffer 'PerfOpenQueryHandle' 'none' $status $null @{})
    if ($status -ne $success) { return }
    foreach ($one in $chosen) {
        # _PERF_COUNTER_IDENTIFIER (2.2.4.6), every counter; "*" for every instance where there are instances.
        $name = if ($one.Multiple) { [byte[]] (0x2A, 0, 0, 0, 0, 0, 0, 0) } else { New-Object byte[] 0 }
        $size = 40 + $name.Length
        $block = $one.Guid
        foreach ($number in 0, $size, $any, $any, 0, 0) { $block += [BitConverter]::GetBytes([uint32] $number) }
        $block = [byte[]] ($block + $name)
        $status = [PcqCalls]::PerfAddCounters($handle, $block, $size)
        [void] (Save-Buffer 'PerfAddCounters' 'identifiers' $status $block @{ counterset = $one.Name })
    }
    $info = { param($buffer, $size, $needed) [PcqCalls]::PerfQueryCounterInfo($handle, $buffer, $size, $needed) }
    $data = { param($buffer, $size, $needed) [PcqCalls]::PerfQueryCounterData($handle, $buffer, $size, $needed) }
    [void] (Invoke-Sized 'PerfQueryCounterInfo' 'identifiers' @{} 1 $info)
    $query = [IntPtr]::Zero
    $counters = @()
    if ([PcqCalls]::PdhOpenQueryW([NullString]::Value, [IntPtr]::Zero, [ref] $query) -eq $success) {
        foreach ($path in $paths) {
            $counter = [IntPtr]::Zero
            if ([PcqCalls]::PdhAddEnglishCounterW($query, "$Machine$($path.path)", [IntPtr]::Zero, [ref] $counter) -eq $success) {
                $counters += , @($path, $counter)
            }
        }
    } else {
        [void] $failures.Add([ordered] @{ call = 'PdhOpenQuery'; why = 'no PDH' })
    }
    $older = (Invoke-Sized 'PerfQueryCounterData' 'perf-data' @{} 1 $data).File
    if ($counters) { [void] [PcqCalls]::PdhCollectQueryData($query) }
    Start-Sleep -Seconds 1
    $newer = (Invoke-Sized 'PerfQueryCounterData' 'perf-data' @{} 1 $data).File
    if ($counters) { [void] [PcqCalls]::PdhCollectQueryData($query) }
    foreach ($pair in $counters) {
        $kind = [uint32] 0
        $value = New-Object PcqValue
        $status = [PcqCalls]::PdhGetFormattedCounterValue($pair[1], $formatted, [ref] $kind, [ref] $value)
        $entry = [ordered] @{} + $pair[0]
        $entry.value = if ($status -eq $success) { $value.Value } else { $null }
        $entry.status = $status
        $entry.older = $older
        $entry.newer = $newer
        [void] $displayed.Add($entry)
    }
    if ($query -ne [IntPtr]::Zero) { [void] [PcqCalls]::PdhCloseQuery($query) }
    [void] [PcqCalls]::PerfCloseQueryHandle($handle)
}

function Read-Registry {
    # HKEY_PERFORMANCE_DATA.
    $key = $performanceData
    if ($Machine) {
        $key = [IntPtr]::Zero
        $status = [PcqCalls]::RegConnectRegistryW($Machine, $performanceData, [ref] $key)
        [void] (Save-Buffer 'RegConnectRegistry' 'none' $status $null @{})
        if ($status -ne $success) { return }
    }
    foreach ($value in 'Global', 'Costly', '2', '230', '238', 'Counter 009') {
        $room = 65536
        do {
            $data = New-Object byte[] $room
            $size = [uint32] $room
            $kind = [uint32] 0
            $status = [PcqCalls]::RegQueryValueExW($key, $value, [IntPtr]::Zero, [ref] $kind, $data, [ref] $size)
            $room *= 2
        } while ($status -eq $moreData -and $room -le 0x10000000)
        $found = $null
        if ($status -eq $success -and $size) { $found = [byte[]] $data[0..($size - 1)] }
        $layout = if ($value -like 'Counter*') { 'name-table' } else { 'winperf' }
        [void] (Save-Buffer 'RegQueryValueEx' $layout $status $found @{ value = $value })
    }
    [void] [PcqCalls]::RegCloseKey($key)
}

$guids = (Invoke-Sized 'PerfEnumerateCounterSet' 'guids' @{} 16 {
    param($buffer, $room, $needed)
    [PcqCalls]::PerfEnumerateCounterSet($target, $buffer, $room, $needed)
}).Data
$chosen = @()
$paths = @()
for ($at = 0; $at -lt [Math]::Min($guids.Length, 16 * $Sets); $at += 16) {
    $guid = [byte[]] $guids[$at..($at + 15)]
    $name = (New-Object Guid (, $guid)).ToString()
    $found = Get-Described $guid $name
    if ($found[1].Length -lt 32) { continue }
    $multiple = [BitConverter]::ToUInt32($found[1], 28) -ne 0
    $chosen += @{ Guid = $guid; Name = $name; Multiple = $multiple }
    $text = Get-Text $found[9]
    if (-not $text) { continue }
    $names = Get-Names $found[10]
    foreach ($counter in @($names.Keys | Select-Object -First 8)) {
        $instance = if ($multiple) { '_Total' } else { '' }
        $path = if ($multiple) { "\$text($instance)\$($names[$counter])" } else { "\$text\$($names[$counter])" }
        $paths += , ([ordered] @{ path = $path; counterset = $name; counter_id = [uint32] $counter; instance = $instance })
    }
}
Invoke-Query $chosen $paths
Read-Registry
$manifest = [ordered] @{
    format = 1
    system = [Environment]::OSVersion.VersionString
    machine = if ($Machine) { 'remote' } else { 'local' }
    buffers = $buffers
    displayed = $displayed
    failures = $failures
}
# Without a byte order mark, as JSON has none.
$json = ConvertTo-Json -InputObject $manifest -Depth 6
[IO.File]::WriteAllText((Join-Path $folder 'manifest.json'), $json, (New-Object Text.UTF8Encoding $false))
$kept = @($buffers | Where-Object { $_.file }).Count
"$($buffers.Count) calls, $kept buffers, $($displayed.Count) displayed values in $folder"
